"""Auditors: black-box querying strategies behind one protocol. Adding one is adding one file here."""

from afterdelete.auditors.base import Abstain, Act, Ask, Auditor, Observation, Submit, load, names

__all__ = ["Abstain", "Act", "Ask", "Auditor", "Observation", "Submit", "load", "names"]
