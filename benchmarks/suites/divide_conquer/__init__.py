"""Divide and conquer beyond the paper: speed and memory, rows on dask workers."""
