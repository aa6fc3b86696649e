"""Safe screening: rules on any dual problem, and the screener inside a solve."""
