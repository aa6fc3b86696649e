"""Robust chance-constrained SVM: samples with error bars."""
