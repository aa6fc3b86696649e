"""Divide and conquer on any dual problem."""
