"""The tables of the comparison on wrong labels, made of its stored results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from widemargin_papers.harness.results import Record, ResultStore
from widemargin_papers.harness.text_tables import folded, rst_table

from .label_methods import METHODS, SETTINGS
from .labels import stored
from .noise import NOISES
from .suite import HALVES

NAMES = tuple(METHODS)
PLAIN, *OTHERS = NAMES
FIXED, TUNED = ("C=1", "C=10"), "C by cross-validation"
LEVEL = 0.05  # of the paired test over splits that makes a win or a loss
DRAWS = 2000  # of the bootstrap that an interval is made of

Records = Sequence[Record]
Sets = dict[str, list[float]]  # data set -> its figure in each split


@dataclass(frozen=True)
class Gain:
    """Gains over SVC in points, by data set: mean, worst, outcomes."""

    sets: Sets

    @property
    def means(self) -> dict[str, float]:
        """Mean over splits by data set."""
        return {data: float(np.mean(each)) for data, each in self.sets.items()}

    @property
    def mean(self) -> float:
        """Mean over data sets."""
        return float(np.mean(list(self.means.values())))

    @property
    def worst(self) -> float:
        """The worst data set's mean."""
        return min(self.means.values())

    @property
    def interval(self) -> tuple[float, float]:
        """What the mean may be: 95 % of a bootstrap over sets and splits."""
        draw, sets = np.random.default_rng(0), list(map(np.array, self.sets.values()))
        shape = (DRAWS, len(sets))
        of_sets = np.array(
            [
                each[draw.integers(each.size, size=(*shape, each.size))].mean(axis=2)
                for each in sets
            ]
        )
        places = draw.integers(len(sets), size=(1, *shape))
        means = np.take_along_axis(of_sets, places, axis=0).mean(axis=(0, 2))
        low, high = np.quantile(means, [0.025, 0.975])
        return float(low), float(high)

    def allowance(self, data: str) -> float:
        """Two standard errors of a data set's mean."""
        each = self.sets[data]
        spread = float(np.std(each, ddof=1)) if len(each) > 1 else np.inf
        return 2.0 * spread / float(np.sqrt(len(each)))

    @property
    def outcomes(self) -> str:
        """Data sets won, tied and lost by a paired t test over splits."""
        counts = {1: 0, 0: 0, -1: 0}
        for each in self.sets.values():
            counts[_outcome(each)] += 1
        return f"{counts[1]}-{counts[0]}-{counts[-1]}"

    def __str__(self) -> str:
        return f"{self.mean:+.1f} / {self.worst:+.1f} ({self.outcomes})"


def _outcome(each: Sequence[float]) -> int:
    """Return 1 for a win, -1 for a loss, 0 where the paired t test tells neither."""
    if len(each) < 2:
        return 0
    mean, spread = float(np.mean(each)), float(np.std(each, ddof=1))
    error = spread / float(np.sqrt(len(each)))
    critical = float(student.isf(LEVEL / 2.0, len(each) - 1))
    return int(np.sign(mean)) if abs(mean) > critical * error else 0


def gain(
    records: Records, half: str, kind: str, settings: Iterable[str], method: str
) -> Gain:
    """Return the gains of a method, averaged over settings split by split."""
    sets: Sets = defaultdict(list)
    for record in records:
        if record["half"] == half:
            found = [record["noise"][kind]["settings"][name] for name in settings]
            each = [one[method]["balanced"] - one[PLAIN]["balanced"] for one in found]
            sets[record["set"]].append(100.0 * float(np.mean(each)))
    return Gain(dict(sets))


def table(store: ResultStore) -> str:
    """Return all tables."""
    records = stored(store)
    parts = [coverage(records), f"{TUNED}:\n", gain_table(records, TUNED)]
    parts += [folded(f"At {fixed}", gain_table(records, fixed)) for fixed in FIXED]
    accuracy = "Accuracy in per cent, C by cross-validation, mean over sets"
    parts += [folded(accuracy, accuracy_table(records))]
    parts += [
        "Suspects, C by cross-validation: precision / recall, all lists as long as "
        "RampSVC's own:\n",
        suspect_table(records),
        "Processor seconds in all, choosing included, over SVC's (median over sets "
        "and splits):\n",
        time_table(records),
    ]
    return "\n".join(parts)


def coverage(records: Records) -> str:
    """Return what the figures rest on."""
    return (
        f"{extent(records)}, every kind of noise. Balanced accuracy on clean test "
        "labels: SVC's, and by how many points another method is above it: mean over "
        "sets / worst set (sets won-tied-lost by a paired t test over splits at 5 %).\n"
    )


def extent(records: Records) -> str:
    """Return how many data sets and splits there are."""
    splits: dict[str, int] = defaultdict(int)
    halves = {}
    for record in records:
        splits[record["set"]] += 1
        halves[record["set"]] = record["half"]
    sizes = [f"{list(halves.values()).count(half)} to {half}" for half in HALVES]
    least, most = min(splits.values()), max(splits.values())
    number = f"{least}" if least == most else f"{least} to {most}"
    return f"{len(splits)} data sets ({', '.join(sizes)}), {number} splits each"


def advice(store: ResultStore) -> str:
    """Return the mean gains on the checking half, C chosen by cross-validation."""
    records = stored(store)
    rows = [
        [
            kind,
            *(
                f"{gain(records, 'check', kind, [TUNED], name).mean:+.1f}"
                for name in OTHERS
            ),
        ]
        for kind in NOISES
    ]
    return rst_table(["labels", *OTHERS], rows)


def gain_table(records: Records, setting: str) -> str:
    """Return the gains by half and kind of noise."""
    rows = []
    for half in HALVES:
        for kind in NOISES:
            own = mean(records, half, kind, setting, PLAIN, "balanced")
            gains = [gain(records, half, kind, [setting], name) for name in OTHERS]
            rows.append([half, kind, f"{100 * own:.1f}", *map(str, gains)])
    return rst_table(["half", "labels", PLAIN, *OTHERS], rows)


def accuracy_table(records: Records) -> str:
    """Return the mean accuracies by half and kind of noise."""
    rows = []
    for half in HALVES:
        for kind in NOISES:
            figures = [
                mean(records, half, kind, TUNED, name, "accuracy") for name in NAMES
            ]
            rows.append([half, kind, *(f"{100 * figure:.1f}" for figure in figures)])
    return rst_table(["half", "labels", *NAMES], rows)


def mean(
    records: Records, half: str, kind: str, setting: str, method: str, figure: str
) -> float:
    """Return the mean of a figure over the sets of a half."""
    sets: Sets = defaultdict(list)
    for record in records:
        if record["half"] == half:
            found = record["noise"][kind]["settings"][setting][method]
            sets[record["set"]].append(found[figure])
    return float(np.mean([np.mean(each) for each in sets.values()]))


def suspect_table(records: Records) -> str:
    """Return precision and recall of the lists of suspects, summed over sets."""
    rows = []
    for half in HALVES:
        for kind in list(NOISES)[1:]:
            listed = _sum(records, half, kind, lambda one, _: one["RampSVC"]["listed"])
            wrong = _sum(records, half, kind, lambda _, count: count)
            row = [half, kind]
            for name in NAMES:
                found = _sum(records, half, kind, _found_by(name))
                row.append(f"{found / max(listed, 1):.2f} / {found / wrong:.2f}")
            rows.append(row)
    return rst_table(["half", "labels", *NAMES], rows)


Count = Callable[[dict[str, dict[str, float]], int], float]


def _found_by(name: str) -> Count:
    return lambda one, _: one[name]["found"]


def _sum(records: Records, half: str, kind: str, count: Count) -> float:
    found = [record["noise"][kind] for record in records if record["half"] == half]
    return sum(count(one["settings"][TUNED], one["wrong"]) for one in found)


def time_table(records: Records) -> str:
    """Return the medians of the ratios of processor seconds."""
    rows = []
    for setting in SETTINGS:
        row = [setting]
        for name in OTHERS:
            ratios = [
                one["settings"][setting][name]["seconds"]
                / max(one["settings"][setting][PLAIN]["seconds"], 1e-4)
                for record in records
                for one in record["noise"].values()
            ]
            row.append(f"{np.median(ratios):.1f}")
        rows.append(row)
    return rst_table(["setting", *OTHERS], rows)
