"""Samples with error bars: what is known of them besides the mean."""
