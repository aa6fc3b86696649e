"""Models in the form of LIBSVM and of scikit-learn."""
