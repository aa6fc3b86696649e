"""A suite for wrong labels and unequal costs: whether a method helps by default."""
