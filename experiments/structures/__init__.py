"""Random networks, learned again from rows drawn from them. See README.md."""
