"""Fuzzers: random input of every kind, until something crashes, hangs, answers with NaN or shows a traceback."""
