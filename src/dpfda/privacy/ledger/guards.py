"""Come here for the rules that a database itself holds: SQL that both kinds of database run."""

from __future__ import annotations

from dpfda.privacy.ledger.events import KINDS

# The events that say how a budget stands, and whether there is an anchor: an index has these alone.
STATES = "kind IN ('create', 'charge', 'freeze', 'anchor')"
_KINDS = ", ".join(f"'{kind}'" for kind in KINDS)


def tables(*, integer: str, blob: str, real: str, whole: tuple[str, ...] = ()) -> list[str]:
    """The three tables and their indices, with a database's own names for types; `whole` are more checks of events."""
    checks = [
        f"kind IN ({_KINDS})",
        "length(previous) = 32 AND length(hash) = 32",
        "(kind = 'anchor') = (dataset IS NULL)",
        "(kind = 'create') = (cap IS NOT NULL)",
        "(kind = 'charge') = (key IS NOT NULL)",
        "(kind = 'charge') = (cost IS NOT NULL)",
        "(kind = 'charge') = (losses IS NOT NULL)",
        "(kind IN ('create', 'copy')) = (name IS NOT NULL)",
        "(kind IN ('create', 'charge')) = (total IS NOT NULL)",
        "(kind IN ('create', 'charge')) = (epsilon IS NOT NULL)",
        "(kind IN ('create', 'charge')) = (delta IS NOT NULL)",
        "(kind IN ('output', 'burn')) = (charged IS NOT NULL)",
        "(kind IN ('charge', 'output')) = (digest IS NOT NULL)",
        "digest IS NULL OR length(digest) = 32",
        "cap IS NULL OR (cap > 0 AND cap <= 1000000000000000000)",
        "cost IS NULL OR cost >= 0",
        "total IS NULL OR total >= 0",
        "kind <> 'create' OR (total = 0 AND dataset = number)",
        "delta IS NULL OR (delta >= 0 AND delta < 1)",
        *whole,
    ]
    return [
        "CREATE TABLE dpfda_ledger (one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL, "
        "version INTEGER NOT NULL)",
        f"CREATE TABLE dpfda_events (number {integer} PRIMARY KEY, previous {blob} NOT NULL, kind TEXT NOT NULL, "
        f"at {integer} NOT NULL, dataset {integer}, name TEXT, key TEXT, charged {integer}, digest {blob}, what TEXT, "
        f"unit TEXT, neighbours TEXT, epsilon {real}, delta {real}, losses TEXT, sums TEXT, cost {integer}, "
        f"total {integer}, cap {integer}, hash {blob} NOT NULL, {', '.join(f'CHECK ({check})' for check in checks)})",
        f"CREATE TABLE dpfda_outputs (charged {integer} PRIMARY KEY, output {blob} NOT NULL)",
        "CREATE UNIQUE INDEX dpfda_keys ON dpfda_events (key) WHERE key IS NOT NULL",
        "CREATE UNIQUE INDEX dpfda_names ON dpfda_events (name) WHERE name IS NOT NULL",
        "CREATE UNIQUE INDEX dpfda_fates ON dpfda_events (charged) WHERE charged IS NOT NULL",
        f"CREATE UNIQUE INDEX dpfda_states ON dpfda_events (dataset, number) WHERE {STATES}",
    ]


_CREATED = "FROM dpfda_events WHERE number = NEW.dataset AND kind = 'create'"
_LAST = f"FROM dpfda_events WHERE dataset = NEW.dataset AND {STATES} ORDER BY number DESC LIMIT 1"

# What must not be true of a new event, and what is said if it is. Uniqueness stands here again: an `INSERT OR REPLACE`
# would otherwise take the older entry away without a word.
EVENT_RULES = [
    (
        "NEW.number <> (SELECT coalesce(max(number), 0) + 1 FROM dpfda_events)",
        "an entry has the number after the last one",
    ),
    (
        "NEW.number > 1 AND NOT EXISTS (SELECT 1 FROM dpfda_events WHERE number = NEW.number - 1 "
        "AND hash = NEW.previous)",
        "an entry carries the hash of the last one",
    ),
    (
        "NEW.key IS NOT NULL AND EXISTS (SELECT 1 FROM dpfda_events WHERE key = NEW.key)",
        "a key is charged once",
    ),
    (
        "NEW.name IS NOT NULL AND EXISTS (SELECT 1 FROM dpfda_events WHERE name = NEW.name)",
        "a name has one budget",
    ),
    (
        "NEW.kind NOT IN ('create', 'anchor') AND NOT EXISTS (SELECT 1 " + _CREATED + ")",
        "an entry belongs to a data set",
    ),
    (
        f"NEW.kind IN ('charge', 'freeze') AND (SELECT kind {_LAST}) = 'freeze'",
        "a frozen budget stays as it is",
    ),
    (
        f"NEW.kind = 'charge' AND NEW.total > (SELECT cap {_CREATED})",
        "the total stays within the cap",
    ),
    (
        f"NEW.kind = 'charge' AND (SELECT delta {_CREATED}) = 0 AND NEW.total <> NEW.cost + (SELECT total {_LAST})",
        "a pure budget adds up",
    ),
    (
        "NEW.charged IS NOT NULL AND NOT EXISTS (SELECT 1 FROM dpfda_events WHERE number = NEW.charged "
        "AND kind = 'charge' AND dataset = NEW.dataset)",
        "an output belongs to a charge",
    ),
    (
        "NEW.charged IS NOT NULL AND EXISTS (SELECT 1 FROM dpfda_events WHERE charged = NEW.charged)",
        "a charge has one output, and none once it is burnt",
    ),
]
OUTPUT_RULES = [
    (
        "NOT EXISTS (SELECT 1 FROM dpfda_events WHERE charged = NEW.charged AND kind = 'output')",
        "an output belongs to an entry",
    ),
    (
        "EXISTS (SELECT 1 FROM dpfda_outputs WHERE charged = NEW.charged)",
        "a charge has one output",
    ),
]
LEDGER_RULES = [("EXISTS (SELECT 1 FROM dpfda_ledger)", "a ledger has one identifier")]
RULES = {"dpfda_ledger": LEDGER_RULES, "dpfda_events": EVENT_RULES, "dpfda_outputs": OUTPUT_RULES}
NEVER = "what is entered is never changed"
