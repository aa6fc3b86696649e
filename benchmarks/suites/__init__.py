"""What is measured and is no paper: a folder a suite, on the papers' harness."""
