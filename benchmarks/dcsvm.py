"""Measure divide and conquer: a few lines over ``widemargin.reproduction``.

python benchmarks/dcsvm.py                     everything that is missing (hours)
python benchmarks/dcsvm.py --only speed        the speed tasks only
python benchmarks/dcsvm.py --print             the tables of the stored results
python benchmarks/dcsvm.py --draw FOLDER       their figures and heat maps
"""

from widemargin.reproduction.dcsvm_report import main

if __name__ == "__main__":
    main()
