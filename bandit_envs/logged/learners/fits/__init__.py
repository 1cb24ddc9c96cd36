"""What learners fit to logs, and the policies that follow."""
