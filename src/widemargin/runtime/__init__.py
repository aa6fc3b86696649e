"""What runs a fit: cancellation of threads, deadlines, files."""
