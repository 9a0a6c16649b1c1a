"""Votes of networks over streams of ten million rows. See README.md."""
