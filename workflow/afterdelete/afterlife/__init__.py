"""Afterlife: does a delete stay deleted?

A synthetic marker is written to an agent-memory system, deleted, proved absent, and then the events of
the system's later life are driven one by one while every retrieval surface is polled. The package needs no
Snakemake and imports no memory system: those run behind the adapter protocol, most of them in a process
of their own. Start with :mod:`afterdelete.afterlife.protocol`.
"""
