"""Tests of evaluations of logs."""
