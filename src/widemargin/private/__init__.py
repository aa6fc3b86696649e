"""Differentially private support vector machines, their report and their audit."""
