"""How number columns are cut in streams, by the first rows alone."""
