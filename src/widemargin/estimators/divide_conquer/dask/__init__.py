"""Divide and conquer on dask collections."""
