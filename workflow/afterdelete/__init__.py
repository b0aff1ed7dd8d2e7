"""AfterDelete: what can an agent still reveal after a deletion from its memory?"""

__version__ = "0.1.0"
