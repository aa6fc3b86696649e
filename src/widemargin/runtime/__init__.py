"""What runs a fit: threads that end together, deadlines, files."""
