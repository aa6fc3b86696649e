"""Zhai et al. (2020): safe sample screening for the robust (ramp-loss) SVM."""
