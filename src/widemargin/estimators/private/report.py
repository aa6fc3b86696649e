"""The privacy statement of a fitted `PrivateSVC`, in numbers and in plain words."""

from __future__ import annotations

from dataclasses import dataclass

from .mechanisms import COVER_SHARE, Mechanism, Public


class PrivacyWarning(UserWarning):
    """Something asked for weakens or voids a privacy guarantee."""


class NoiseWarning(UserWarning):
    """The noise that privacy asks for may drown the signal of these settings."""


SEED_GIVEN = (
    "random_state makes the noise reproducible, and anyone who knows the seed can "
    "subtract it: leave it None to release a model"
)
CLASSES_FOUND = (
    "the class labels were taken from the data, and a label that a single record has "
    "would appear in the model: give the labels that are possible as classes="
)
NOISE_LEFT_OUT = "no noise was added (fit_without_noise): release what fit trains"
MINIMUM_MISSED = (
    "rounding kept the minimum of the perturbed objective farther away than the noise "
    "covers: lower C or use mechanism='output'"
)
"""What voids a guarantee, each with its remedy."""

NOT_COVERED = (
    "choosing C, epsilon, gamma or the mechanism by looking at results on these data "
    "(each further fit spends its own epsilon; a PrivacyLedger adds them up)",
    "scaling, imputation, feature or row selection learnt from these data before fit",
    "scores, plots and counts computed from these data and published beside the model",
    "how long fit took, how much memory it used, and an error that it may have raised",
    "rounding inside the training itself, before the noise (parts in 1e16 a step)",
)

_LAWS = {
    "gaussian": "Gaussian, standard deviation {:.6g}",
    "laplace": "Laplace per coordinate, scale {:.6g}",
    "spherical": "spherical (uniform direction, Gamma length), scale {:.6g}",
}


@dataclass(frozen=True)
class PrivacyReport:
    """What is guaranteed about a released model, and what is not.

    Printing it gives the statement in words. Every field was fixed before the data
    were read; where one depends on them (the labels found, a minimum that was missed),
    `guarantee` is False.

    Attributes
    ----------
    guarantee : bool
        False when nothing is promised; `voided_by` says why.
    voided_by : tuple of str
        What voids the guarantee, each with its remedy: a seed, class labels taken from
        the data, a minimum that rounding kept out of reach ("objective").
    mechanism : str
        "output", "objective" or "gradient".
    adjacency : str
        "replace" or "add-remove": which data sets count as neighbours.
    epsilon, delta : float
        The guarantee of the whole model, all classes together.
    mu : float or None
        The same as Gaussian differential privacy, which says more (None: not of that
        kind).
    n_problems : int
        Binary problems that are released together (1 for two classes).
    group_size : int
        Records that one person may have.
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
    solver_distance : float or None
        Public distance from the exact minimiser that further noise covers (objective
        only).
    noise : str
        Law of the noise.
    noise_scale : float
        Its scale, of one binary problem and step.
    noise_to_signal : float
        Noise over signal, from public numbers; above 0.4 `fit` warns.
    noise_class : str
        How safe the sampler is.
    treated_as_public : tuple of str
        Facts about the data taken as public.
    not_covered : tuple of str
        What the guarantee does not extend to.
    """

    guarantee: bool
    voided_by: tuple[str, ...]
    mechanism: str
    adjacency: str
    epsilon: float
    delta: float
    mu: float | None
    n_problems: int
    group_size: int
    clip_norm: float
    radius: float
    C: float
    sensitivity: float | None
    solver_gap: float | None
    solver_distance: float | None
    noise: str
    noise_scale: float
    noise_to_signal: float
    noise_class: str
    treated_as_public: tuple[str, ...]
    not_covered: tuple[str, ...]

    def __str__(self) -> str:
        """Return the statement in plain words."""
        several = self.group_size > 1
        whose = f"up to {self.group_size} records are" if several else "one record is"
        neighbours = {
            "replace": f"{whose} replaced by any other{'s' if several else ''}",
            "add-remove": f"{whose} added or removed",
        }[self.adjacency]
        budget = f"epsilon = {self.epsilon:g}, delta = {self.delta:g}"
        if self.guarantee:
            lines = [
                f"Differentially private: {budget}, for data sets in which "
                f"{neighbours}."
            ]
        else:
            lines = ["NO PRIVACY GUARANTEE:"]
            lines += [f"  - {reason}" for reason in self.voided_by]
            lines.append(f"Without that the same settings would give {budget}.")
        lines.append(f"Mechanism: {self.mechanism} perturbation, C = {self.C:g}.")
        if self.n_problems > 1 and self.mu is not None:
            lines.append(
                f"{self.n_problems} one-against-rest problems are one Gaussian release."
            )
        elif self.n_problems > 1:
            lines.append(
                f"The budget is split equally among {self.n_problems} one-against-rest "
                f"problems: epsilon = {self.epsilon / self.n_problems:g} each."
            )
        lines += [
            f"Row length bound: {self.radius:g} (clip_norm = {self.clip_norm}).",
            f"Noise: {self.noise}.",
        ]
        if self.solver_distance is not None:
            lines.append(
                f"The minimum is reached to within {self.solver_distance:.3g}; "
                f"{COVER_SHARE:.1%} of epsilon is spent on noise that covers this."
            )
        lines += [
            f"Class of noise: {self.noise_class}.",
            "Released: coef_, intercept_; with kernel='rbf' also frequencies_, which "
            "were drawn without the data.",
            f"Treated as public: {'; '.join(self.treated_as_public)}.",
            "NOT covered:",
        ]
        return "\n".join(lines + [f"  - {item}" for item in self.not_covered])

    def first_lines(self) -> list[str]:
        """Return what belongs on one screen: the guarantee and the mechanism."""
        lines = str(self).splitlines()
        end = next(i for i, line in enumerate(lines) if line.startswith("Row length"))
        return lines[:end]


def build_report(
    plan: Mechanism,
    public: Public,
    *,
    clip_norm: float,
    noise_class: str,
    voided_by: tuple[str, ...],
) -> PrivacyReport:
    """Describe a plan that serves all problems of `public`."""
    taken = ["number and names of features"]
    if CLASSES_FOUND not in voided_by:
        taken.append("class labels")
    if public.adjacency == "replace":
        taken.append("number of records")
    left_out = (
        "several records of one person: the guarantee is per record"
        if public.group_size == 1
        else f"a person with more than {public.group_size} records"
    )
    return PrivacyReport(
        guarantee=not voided_by,
        voided_by=voided_by,
        mechanism=plan.name,
        adjacency=public.adjacency,
        epsilon=plan.epsilon,
        delta=plan.delta,
        mu=plan.price.mu or None,
        n_problems=public.n_problems,
        group_size=public.group_size,
        clip_norm=clip_norm,
        radius=public.radius,
        C=plan.cost,
        sensitivity=plan.sensitivity,
        solver_gap=plan.gap,
        solver_distance=plan.distance,
        noise=_LAWS[plan.law].format(plan.scale),
        noise_scale=plan.scale,
        noise_to_signal=plan.noise_to_signal,
        noise_class=noise_class,
        treated_as_public=tuple(taken),
        not_covered=(*NOT_COVERED, left_out),
    )
