"""Tables and guards of a ledger: SQL that SQLite and PostgreSQL run, with triggers that refuse changes."""

from __future__ import annotations

from dpfda.ledger.chain import KINDS

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


TYPES = {"integer": "INTEGER", "blob": "BLOB", "real": "REAL"}
WHOLE = tuple(
    f"{column} IS NULL OR typeof({column}) = '{kind}'"
    for kind, columns in (
        ("integer", ("number", "at", "dataset", "charged", "cost", "total", "cap")),
        ("blob", ("previous", "hash", "digest")),
        ("real", ("epsilon", "delta")),
    )
    for column in columns
)


def sqlite_schema() -> list[str]:
    """Tables, indices and triggers; the triggers refuse before anything is done."""
    found = tables(**TYPES, whole=WHOLE)
    for table, rules in RULES.items():
        tests = "".join(f" SELECT RAISE(ABORT, 'dpfda: {said}') WHERE {test};" for test, said in rules)
        found.append(f"CREATE TRIGGER {table}_insert BEFORE INSERT ON {table} BEGIN{tests} END")
        for verb in ("UPDATE", "DELETE"):
            found.append(
                f"CREATE TRIGGER {table}_{verb.lower()} BEFORE {verb} ON {table} BEGIN "
                f"SELECT RAISE(ABORT, 'dpfda: {NEVER}'); END"
            )
    return found


def name_of(statement: str) -> str:
    """What a statement makes."""
    return statement.removeprefix("CREATE UNIQUE").removeprefix("CREATE").split()[1]


_TABLES = tables(integer="BIGINT", blob="BYTEA", real="DOUBLE PRECISION")
INDICES = [text.split()[3] for text in _TABLES if text.startswith("CREATE UNIQUE INDEX")] + ["dpfda_events_pkey"]
CHECKS = sum(text.count(" CHECK (") for text in _TABLES if text.startswith("CREATE TABLE dpfda_events "))
# What SQLite cannot compute.
_SAME = (
    "sha256(NEW.output) <> (SELECT digest FROM dpfda_events WHERE charged = NEW.charged)",
    "an output has its digest",
)


def bodies() -> dict[str, str]:
    """What each trigger runs, by its name."""
    found = {}
    for table, rules in RULES.items():
        tests = "".join(
            f" IF {test} THEN RAISE EXCEPTION 'dpfda: {said}' USING ERRCODE = 'integrity_constraint_violation'; END IF;"
            for test, said in [*rules, *([_SAME] if table == "dpfda_outputs" else [])]
        )
        found[f"{table}_insert"] = f"BEGIN{tests} RETURN NEW; END"
        found[f"{table}_never"] = (
            f"BEGIN RAISE EXCEPTION 'dpfda: {NEVER}' USING ERRCODE = 'integrity_constraint_violation'; END"
        )
    return found


def postgres_schema(place: str) -> list[str]:
    """All statements that make a ledger in a postgres_schema, whose name comes quoted."""
    found = list(_TABLES)
    for name, body in bodies().items():
        table, when = name.rsplit("_", 1)
        event = "INSERT" if when == "insert" else "UPDATE OR DELETE OR TRUNCATE"
        each = "ROW" if when == "insert" else "STATEMENT"
        # The path is fixed: a temporary table of the same name must not be looked at instead.
        found += [
            f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql SET search_path = {place}, pg_temp "
            f"AS $body${body}$body$",
            f"CREATE TRIGGER {name} BEFORE {event} ON {table} FOR EACH {each} EXECUTE FUNCTION {name}()",
            f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name}",
        ]
    return found
