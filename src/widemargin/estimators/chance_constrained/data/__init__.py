"""What is known of the samples: means, covariances, blocks of rows, the problem."""
