"""How number columns are cut, and what it does to four classifiers."""
