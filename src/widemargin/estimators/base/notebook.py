"""What a notebook shows of a fitted model: below the parameters, what was proved."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from widemargin.engine.certificate import Certificate, total_gap

_STYLE = (
    "border-collapse:collapse;margin:4px 0 8px 0;font-size:0.9em;"
    "font-variant-numeric:tabular-nums"
)


class CertificateInNotebooks:
    """Adds data shape and certificate to scikit-learn's picture of an estimator."""

    @property
    def _repr_html_(self) -> Any:
        """IPython's protocol, as scikit-learn has it: absent where it is switched off.

        Its setting is ``sklearn.set_config(display=...)``.
        """
        drawn = super()._repr_html_  # type: ignore[misc]
        return lambda: drawn() + self._model_table()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        """IPython's protocol; of the forms offered, the HTML has the table."""
        bundle: dict[str, Any] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += self._model_table()
        return bundle

    def _model_table(self) -> str:
        """Return the table of what is known of the model; empty without one."""
        facts = model_facts(self)
        return html_facts(facts | self._guarantees()) if facts else ""

    def _guarantees(self) -> dict[str, str]:
        """Return further statements about a fitted model of this kind, in words."""
        return {}


def html_facts(facts: dict[str, str]) -> str:
    """Return an HTML table with one fact per row."""
    rows = "".join(
        f"<tr><th style='text-align:left;padding:1px 12px 1px 0'>{escape(name)}</th>"
        f"<td style='text-align:left'>{escape(value)}</td></tr>"
        for name, value in facts.items()
    )
    return f"<table class='widemargin-model' style='{_STYLE}'>{rows}</table>"


def model_facts(estimator: Any) -> dict[str, str]:
    """Return facts on the data and the optimality of a fitted model, in words."""
    present = vars(estimator)
    facts: dict[str, str] = {}
    if "shape_fit_" in present:
        rows, features = present["shape_fit_"]
        facts["trained on"] = f"{rows:,} rows by {features:,} features"
    elif "n_features_in_" in present:
        facts["trained on"] = f"{present['n_features_in_']:,} features"
    if "classes_" in present:
        labels = [str(label) for label in present["classes_"][:6]]
        more = ", …" if len(present["classes_"]) > 6 else ""
        facts["classes"] = ", ".join(labels) + more
    if "n_support_" in present:
        facts["support vectors"] = f"{int(np.sum(present['n_support_'])):,}"
    given = present.get("certificate_")
    certificates = given if isinstance(given, list) else [given]
    known = [one for one in certificates if isinstance(one, Certificate)]
    return facts | (_proved(known) if known else {})


def _proved(certificates: list[Certificate]) -> dict[str, str]:
    """Return the certificates of all problems of a fit, taken together."""
    facts = {"status": ", ".join(sorted({str(one.status) for one in certificates}))}
    facts["objective"] = f"{sum(one.objective for one in certificates):.8g}"
    gap = total_gap(one.gap for one in certificates)
    if gap is not None:
        facts["duality gap"] = f"{gap:.2g} at most, rounding included"
    violations = [one.kkt_violation for one in certificates]
    largest = max((value for value in violations if value is not None), default=None)
    if largest is not None:
        facts["KKT violation"] = f"{largest:.2g} at most"
    facts["time"] = f"{sum(one.seconds for one in certificates):.3g} s"
    return facts
