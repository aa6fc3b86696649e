"""What an installed wheel can rerun: a folder a paper, benchmarks, and their harness.

Nothing is measured twice in two ways: ``benchmarks/``, ``widemargin bench`` and
``widemargin reproduce`` all call this package.
"""

#: names on the command line, and of the folders
PAPERS = ("dpwss", "dcsvm", "ramp", "cost", "chance")
