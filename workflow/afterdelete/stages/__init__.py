"""What the workflow's scripts call: read inputs, call the library, return the artifact's table."""
