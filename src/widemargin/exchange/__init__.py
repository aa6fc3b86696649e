"""Models in the form that LIBSVM, scikit-learn and what is built on them have."""
