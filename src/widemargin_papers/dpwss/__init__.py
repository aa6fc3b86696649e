"""Sun et al. (2021): differentially private working set selection."""
