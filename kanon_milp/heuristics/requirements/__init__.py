"""Search for good tables under requirements about sensitive attributes, or of a user's own."""
