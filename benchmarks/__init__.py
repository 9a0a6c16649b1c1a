"""Speed and memory, always as a ratio to a peer in the same run. ``make bench`` prints the table."""
