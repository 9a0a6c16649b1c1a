"""Models behind HTTP: answers in the time there is, and learning that survives a crash."""
