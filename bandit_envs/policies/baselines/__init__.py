"""Policies that others are compared with: they read no features."""
