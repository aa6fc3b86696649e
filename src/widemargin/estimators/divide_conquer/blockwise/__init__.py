"""Exact fits on rows that are read in blocks: dask, memory maps, Parquet."""
