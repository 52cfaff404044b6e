"""A function of the user's own, with a stated sensitivity."""
