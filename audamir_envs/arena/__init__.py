"""Matches, ratings and reports."""
