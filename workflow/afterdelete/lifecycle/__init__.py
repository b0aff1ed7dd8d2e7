"""The audited lifecycle: audit episodes, the non-interference certificate, activation in a fresh session."""
