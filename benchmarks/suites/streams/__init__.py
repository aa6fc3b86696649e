"""A stream of labelled rows: latency and accuracy of models that follow it."""
