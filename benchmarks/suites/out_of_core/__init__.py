"""Fits beyond memory, measured, and the cost model carried past these machines."""
