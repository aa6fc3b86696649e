"""Gu et al. (2018): chunk incremental learning for the cost-sensitive hinge loss."""
