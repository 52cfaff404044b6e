"""The tables and figures of the papers, computed again. Nothing here is private, and nothing else imports it."""
