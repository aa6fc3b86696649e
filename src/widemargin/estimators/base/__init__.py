"""What every estimator shares."""
