"""Streams: models that change their shape while they learn."""
