"""What the site needs beyond Sphinx: navigation from the links of pages, and pages of the public names."""
