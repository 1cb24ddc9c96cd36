"""Evaluation of logs whose actions are not single items: real numbers, and slates."""
