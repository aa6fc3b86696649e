"""The privacy statement of a fitted `PrivateSVC`, in numbers and in plain words."""

from __future__ import annotations

from dataclasses import dataclass

from .mechanisms import (
    GradientMechanism,
    Mechanism,
    ObjectiveMechanism,
    OutputMechanism,
)
from .noise import SEEDED


class PrivacyWarning(UserWarning):
    """Something asked for weakens or voids a privacy guarantee."""


NOT_COVERED = (
    "choosing C, epsilon, gamma or the mechanism by looking at results on these data "
    "(each further fit spends its own epsilon; budgets add up)",
    "scaling, imputation, feature or row selection learnt from these data before fit",
    "scores, plots and counts computed from these data and published beside the model",
    "how long fit took, how much memory it used, and an error that it may have raised",
    "rounding inside the training itself, before the noise (parts in 1e16 a step)",
    "several records of one person: the guarantee is per record",
)

_LAWS = {
    "gaussian": "Gaussian, standard deviation {:.6g}",
    "laplace": "Laplace per coordinate, scale {:.6g}",
    "spherical": "spherical (uniform direction, Gamma length), scale {:.6g}",
}

_NAMES: dict[type, str] = {
    OutputMechanism: "output",
    ObjectiveMechanism: "objective",
    GradientMechanism: "gradient",
}


@dataclass(frozen=True)
class PrivacyReport:
    """What is guaranteed about a released model, and what is not.

    Printing it gives the statement in words. Every field was fixed before the data
    were read.

    Attributes
    ----------
    guarantee : bool
        False when the noise was seeded: then nothing is promised.
    mechanism : str
        "output", "objective" or "gradient".
    adjacency : str
        "replace" or "add-remove": which data sets count as neighbours.
    epsilon, delta : float
        The guarantee of the whole model, all classes together.
    n_problems : int
        Binary problems among which the budget is split equally (1 for two classes).
    clip_norm : float
        Public bound to which rows were shortened.
    radius : float
        Length bound R of a row as trained on, constant feature included.
    C : float
        Cost actually used; objective perturbation may lower the one asked for.
    sensitivity : float or None
        Bound on the effect of one record that the noise covers (None: objective).
    solver_gap : float or None
        Public objective gap tau inside the sensitivity (output only).
    noise : str
        Law of the noise.
    noise_scale : float
        Its scale, per binary problem.
    noise_class : str
        How safe the sampler is.
    treated_as_public : tuple of str
        Facts about the data taken as known to everyone.
    not_covered : tuple of str
        What the guarantee does not extend to.
    """

    guarantee: bool
    mechanism: str
    adjacency: str
    epsilon: float
    delta: float
    n_problems: int
    clip_norm: float
    radius: float
    C: float
    sensitivity: float | None
    solver_gap: float | None
    noise: str
    noise_scale: float
    noise_class: str
    treated_as_public: tuple[str, ...]
    not_covered: tuple[str, ...]

    def __str__(self) -> str:
        """Return the statement in plain words."""
        neighbours = {
            "replace": "one record is replaced by any other",
            "add-remove": "one record is added or removed",
        }[self.adjacency]
        if self.guarantee:
            head = (
                f"Differentially private: epsilon = {self.epsilon:g}, "
                f"delta = {self.delta:g}, for data sets in which {neighbours}."
            )
        else:
            head = (
                f"NO PRIVACY GUARANTEE ({SEEDED}). With fresh noise the same settings "
                f"would give epsilon = {self.epsilon:g}, delta = {self.delta:g}."
            )
        lines = [head, f"Mechanism: {self.mechanism} perturbation, C = {self.C:g}."]
        if self.n_problems > 1:
            lines.append(
                f"The budget is split equally among {self.n_problems} one-against-rest "
                f"problems: epsilon = {self.epsilon / self.n_problems:g} each."
            )
        lines += [
            f"Row length bound: {self.radius:g} (clip_norm = {self.clip_norm}).",
            f"Noise: {self.noise}.",
            f"Class of noise: {self.noise_class}.",
            "Released: coef_, intercept_; with kernel='rbf' also frequencies_, which "
            "were drawn without the data.",
            f"Treated as public: {'; '.join(self.treated_as_public)}.",
            "NOT covered:",
        ]
        return "\n".join(lines + [f"  - {item}" for item in self.not_covered])


def build_report(
    plan: Mechanism,
    *,
    adjacency: str,
    n_problems: int,
    clip_norm: float,
    radius: float,
    noise_class: str,
    public: tuple[str, ...],
) -> PrivacyReport:
    """Describe a plan that serves each of `n_problems` binary problems."""
    return PrivacyReport(
        guarantee=noise_class != SEEDED,
        mechanism=_NAMES[type(plan)],
        adjacency=adjacency,
        epsilon=plan.epsilon * n_problems,
        delta=plan.delta * n_problems,
        n_problems=n_problems,
        clip_norm=clip_norm,
        radius=radius,
        C=plan.cost,
        sensitivity=getattr(plan, "sensitivity", None),
        solver_gap=getattr(plan, "gap", None),
        noise=_LAWS[plan.law].format(plan.scale),
        noise_scale=plan.scale,
        noise_class=noise_class,
        treated_as_public=public,
        not_covered=NOT_COVERED,
    )
