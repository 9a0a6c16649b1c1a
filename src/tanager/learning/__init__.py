"""How rows enter a model, fade and leave it again: what all classifiers are built on."""
