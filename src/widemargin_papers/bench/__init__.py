"""``widemargin bench``: SVC against its peers, on named problems or on a file."""
