"""The maximiser of the user's own objective."""
