"""Safe screening where the ramp paper does not use it: what it costs and saves."""
