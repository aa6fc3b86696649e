"""Samples with error bars beyond the paper: curved boundaries, workers, memory."""
