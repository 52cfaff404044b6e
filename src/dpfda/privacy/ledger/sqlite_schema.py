"""Come here for the guards of a ledger in SQLite: tables, and triggers that refuse whatever the statement says."""

from __future__ import annotations

from dpfda.privacy.ledger.guards import NEVER, RULES, tables

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


def schema() -> list[str]:
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
