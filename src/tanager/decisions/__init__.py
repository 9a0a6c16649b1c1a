"""Decisions: influence diagrams, what to choose, what to ask, and what an answer is worth."""
