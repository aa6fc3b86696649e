"""The engine: one dual problem, its solvers, its certificate.

    minimise    1/2 beta' K beta - linear' beta
    subject to  lower <= beta <= upper,   and, with an intercept, sum(beta) = total

Every kernel estimator is a value of it. Read in this order: :mod:`.kernels` and
:mod:`.gram` (the kernel matrix), :mod:`.problem` (the QP as data), :mod:`.solve` (which
solver, to which precision), :mod:`.solution` and :mod:`.certificate` (the answer, and
how good it is). :mod:`.updates` moves a solved problem exactly, :mod:`.screening`
fixes samples whose optimal value is certain.
"""
