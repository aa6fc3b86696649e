"""Speed of every estimator against its peers: problems, campaign, tables."""
