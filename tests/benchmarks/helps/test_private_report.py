"""Where the warning of drowned fits comes from: the stored fits, half and half."""

from __future__ import annotations

from pathlib import Path

from suites.helps import private_report
from widemargin.estimators.private.settings import DROWNED
from widemargin_papers.harness.results import ResultStore

RESULTS = Path(__file__).resolve().parents[3] / "benchmarks" / "results"


def test_the_warning_of_noise_is_where_the_choosing_half_puts_it():
    """The stored fits choose the threshold; on the others it misses fewer."""
    store = ResultStore(RESULTS / "helps_private.json")
    fits = private_report.noisy_fits(store)
    assert private_report.preferred_threshold(fits, "choose") == DROWNED
    gradient = [f for f in fits if f.half == "check" and f.mechanism == "gradient"]
    caught, false = private_report.warned_shares(gradient, DROWNED)
    assert caught > 0.8 and false < 0.35
    assert private_report.warned_shares(gradient, 1.0)[0] < 0.6


def test_drowned_is_measured_against_the_same_settings():
    def case(epsilon, accuracy, ratio):
        return {
            "epsilon": epsilon,
            "kernel": "linear",
            "accuracy": {"output": accuracy},
            "noise_to_signal": {"output": ratio},
        }

    record = {"set": "x", "half": "check", "majority": 0.6}
    record["cases"] = [case(5.0, 0.9, 0.1), case(1.0, 0.74, 0.3), case(0.1, 0.8, 2.0)]
    store = ResultStore(Path("nowhere"), {"one": record})
    found = [(fit.ratio, fit.drowned) for fit in private_report.noisy_fits(store)]
    assert found == [(0.1, False), (0.3, True), (2.0, False)]
    assert private_report.warned_shares(private_report.noisy_fits(store), 1.0) == (
        0.0,
        0.5,
    )
