"""What papers and benchmarks share: data sets, contestants, judge, results, tables."""
