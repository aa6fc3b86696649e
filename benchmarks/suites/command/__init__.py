"""Measurements of the widemargin command: its hints, memory and run times."""
