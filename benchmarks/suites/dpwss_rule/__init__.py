"""The published rule of DPWSS read in other ways, and the general rule behind it."""
