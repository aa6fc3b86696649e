"""Products and factors of small matrices, by the threads of a fit."""
