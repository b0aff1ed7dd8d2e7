"""From configuration to the static graph of artifacts: keys are known before anything runs."""
