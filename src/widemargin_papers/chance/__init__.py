"""Wang, Fan and Pardalos (2016): stochastic subgradient for chance-constrained SVMs."""
