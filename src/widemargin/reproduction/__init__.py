"""What an installed wheel can rerun: data sets, contestants, checks, results, tables.

Nothing is measured twice in two ways: ``benchmarks/run.py``, ``widemargin bench`` and
``widemargin reproduce`` all call this package.
"""
