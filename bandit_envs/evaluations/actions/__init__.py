"""Evaluation of logs whose actions are no single items: real numbers, and slates."""
