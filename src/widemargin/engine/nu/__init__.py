"""Problems with a second sum: nu-SVC and nu-SVR, by their monotone multiplier."""

from .multiplier_search import solve_nu
from .nu_problem import NuProblem
from .nu_solution import NuSolution

__all__ = ["NuProblem", "NuSolution", "solve_nu"]
