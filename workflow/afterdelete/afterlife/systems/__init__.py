"""The systems that can be tested, and how a configuration entry becomes an adapter."""
