"""The studio: a page in the browser in which people look at a network, change it, and see at once what that does."""
