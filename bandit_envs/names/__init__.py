"""What users name: entries of registries, notation such as `ucb:c=2`, their own modules."""
