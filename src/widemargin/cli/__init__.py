"""The ``widemargin`` command: files in, models and answers out."""
