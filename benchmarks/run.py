"""Measure and print the ratios: a few lines over ``widemargin_papers``.

python benchmarks/run.py                      the ratio table (resumes where it stopped)
python benchmarks/run.py --print              the table of the stored results
python benchmarks/run.py --suite sweep        60 random problems against scikit-learn
python benchmarks/run.py --suite growth       fit time against n, with the exponent
python benchmarks/run.py --suite one-thread   one thread for all contestants
python benchmarks/run.py --suite tight        tolerance 1e-6
python benchmarks/run.py --suite tuning       grids of parameters against GridSearchCV;
    some rows: --only "covtype 2000,german", --only c_path,leave_one_out,memory
python benchmarks/run.py --suite entries      kernel entries against what is needed
python benchmarks/run.py --suite small        fit, grid and predict on small data
python benchmarks/run.py --suite family       SVR, quantiles, one-class and nu models
"""

from suites.speed.campaign import main

if __name__ == "__main__":
    main()
