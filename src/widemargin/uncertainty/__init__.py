"""Samples with error bars: covariances, risk bounds, missing values."""
