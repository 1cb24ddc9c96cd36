"""What users name: entries of registries, notation such as `ucb:c=2`, modules of their own."""
