"""Plain arrays in, plain arrays out: no frames, no models."""
