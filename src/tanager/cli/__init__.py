"""The ``tanager`` command: one file per command; each parses, calls the library and prints."""
