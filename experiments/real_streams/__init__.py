"""Real streams in the order of time: what forgetting brings, and what auto-correlation brings. See README.md."""
