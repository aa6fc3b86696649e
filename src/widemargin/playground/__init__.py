"""A page in the browser on which points are added, moved and forgotten, exactly."""
