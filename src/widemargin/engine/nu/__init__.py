"""Problems with a second sum: nu-SVC and nu-SVR, by their monotone multiplier."""

from .nu_problem import NuProblem
from .nu_solution import NuSolution
from .nu_solve import solve_nu
from .nu_table import NuAnswer, nu_answers, nu_batch

__all__ = ["NuAnswer", "NuProblem", "NuSolution", "nu_answers", "nu_batch", "solve_nu"]
