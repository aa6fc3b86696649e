"""How the problem is solved, and what is proved of the solution."""
