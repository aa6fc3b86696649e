"""What an installed wheel can rerun: data sets, contestants, checks, results, tables.

Nothing is measured twice in two ways: ``benchmarks/run.py``, ``widemargin bench`` and
``widemargin reproduce`` all call this package.
"""

#: name on the command line -> module
PAPERS = {
    "dpwss": "widemargin_papers.dpwss.tasks",
    "dcsvm": "widemargin_papers.dcsvm.tasks",
    "ramp": "widemargin_papers.ramp.tasks",
    "cost": "widemargin_papers.cost.tasks",
    "chance": "widemargin_papers.chance.tasks",
}
