"""Come here for the guards of a ledger on PostgreSQL: tables, and triggers that a session cannot turn off."""

from __future__ import annotations

from dpfda.privacy.ledger.guards import NEVER, RULES, tables

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


def schema(place: str) -> list[str]:
    """All statements that make a ledger in a schema, whose name comes quoted."""
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
