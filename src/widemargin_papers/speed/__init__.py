"""Speed of SVC against its peers: problems, campaign, tables."""
