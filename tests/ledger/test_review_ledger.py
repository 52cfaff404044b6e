"""Attacks on the ledger: refunds, two names of one file, other branches, raw SQL, passwords, odd numbers."""

from __future__ import annotations

import pytest
