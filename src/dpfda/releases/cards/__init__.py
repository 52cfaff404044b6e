"""The forms of a card: plain text, a JSON document, NIST's questions, a registry entry; and their schemas."""
