"""How answers are made from counts: the two forms, views that score rows with them, and what is laid around these."""
