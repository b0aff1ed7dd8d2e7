"""Configuration: one validated model per file, unknown keys forbidden."""
