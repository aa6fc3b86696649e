"""What an installed wheel can rerun: a folder a paper, ``bench``, and their harness.

What is measured and is no paper stands in ``benchmarks/suites``, on the same harness.
"""

#: names on the command line, and of the folders
PAPERS = ("dpwss", "dcsvm", "ramp", "cost", "chance")
