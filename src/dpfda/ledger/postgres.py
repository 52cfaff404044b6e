"""Ledgers on a server: PostgreSQL, one row locked while a charge is checked and entered."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from weakref import finalize

from dpfda.errors import DataError, DpfdaError, LedgerDamaged, MissingExtra
from dpfda.ledger.chain import COVER, OUTPUTS, SCHEMA, Transaction, scan
from dpfda.ledger.database import FORK_LOCK, PATIENCE, Database, DatabaseSession, Lost, NoLedger
from dpfda.ledger.names import secrets_of, without_password
from dpfda.ledger.schema import CHECKS, INDICES, bodies, postgres_schema

if TYPE_CHECKING:
    import psycopg

ALONE = 0x64706664  # the advisory lock under which tables are made
# One row is locked first: at READ COMMITTED every later statement sees what was committed before the lock was given.
WRITE = (
    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; "
    "SET LOCAL synchronous_commit = on; "
    f"SET LOCAL lock_timeout = '{PATIENCE:g}s'; "
    f"SET LOCAL idle_in_transaction_session_timeout = '{PATIENCE:g}s'; "
    "SELECT id FROM dpfda_ledger FOR UPDATE"
)
READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# One statement for each index, if the extension is there and may be used: it raises what does not fit.
AMCHECK = (
    "SELECT format('SELECT %s(%s::regclass, true)', p.oid::regproc, i.indexrelid) FROM pg_index i, pg_proc p "
    "JOIN pg_extension e ON e.extname = 'amcheck' JOIN pg_depend d ON d.objid = p.oid AND d.refobjid = e.oid "
    "WHERE p.proname = 'bt_index_check' AND p.pronargs = 2 AND has_function_privilege(p.oid, 'EXECUTE') "
    "AND i.indrelid IN ('dpfda_ledger'::regclass, 'dpfda_events'::regclass, 'dpfda_outputs'::regclass) "
)


class PostgresDatabase(Database):
    """A server; each process has a connection of its own, which its threads use one at a time."""

    _session: _PostgresSession

    def __init__(self, url: str) -> None:
        try:
            # Here rather than in a thread: a fork would find the import half done.
            import_module("psycopg")
        except ImportError:
            raise MissingExtra(
                "Ledgers on a PostgreSQL server need psycopg. Install it: pip install 'dpfda[postgres]'."
            ) from None
        self.url = url
        self.name = without_password(url)
        self._session = _PostgresSession()
        FORK_LOCK.members.add(self)
        finalize(self, self._session.close)

    def close(self) -> None:
        self._session.close()

    def make(self) -> None:
        with self._transaction("BEGIN; SELECT 1") as (connection, _):
            connection.execute(f"SELECT pg_advisory_xact_lock({ALONE})")
            if connection.execute("SELECT to_regclass('dpfda_ledger')").fetchone() == (None,):
                found = connection.execute("SELECT quote_ident(current_schema())").fetchone()
                for statement in postgres_schema(str(found[0]) if found else "public"):
                    connection.execute(statement)
                connection.execute("INSERT INTO dpfda_ledger VALUES (1, %s, %s)", (uuid4().hex, SCHEMA))

    @contextmanager
    def writing(self, *, more: bool = False) -> Iterator[Transaction]:
        with self._ledger(WRITE) as transaction:
            yield transaction

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        with self._ledger(READ) as transaction:
            yield transaction

    @contextmanager
    def _ledger(self, begin: str) -> Iterator[Transaction]:
        # Before the transaction begins: what is known was entered by then, so it must be there.
        known = self._session.verified
        start = 0 if known is None else len(known.events)
        with self._transaction(f"{begin}; {COVER}") as (connection, cover):

            def rows(text: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
                cursor = connection.execute(text.replace("?", "%s").encode(), values)
                return cursor.fetchall() if cursor.description is not None else []

            verified = self.cover(cover, known)
            new = verified is not known
            size = verified.grow(0 if new else start, rows(scan("dpfda_events"), (0 if new else start,)))
            if new:
                verified.check_outputs(row[0] for row in rows(OUTPUTS, ()))
                self._session.verified = verified
            transaction = Transaction(verified, size, rows)
            yield transaction
        transaction.settle()

    def problems(self) -> list[str]:
        """What amcheck finds in the indices, where the server has it and this role may use it."""
        with self._transaction(f"{READ}; {AMCHECK}") as (connection, found):
            for (check,) in found:
                connection.execute(str(check).encode())
        return []

    def guards(self) -> list[str]:
        with self._transaction(f"{READ}; SELECT 1") as (connection, _):
            triggers = connection.execute(
                "SELECT t.tgname, p.prosrc FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid "
                "WHERE t.tgenabled = 'A' AND t.tgrelid IN ("
                "'dpfda_ledger'::regclass, 'dpfda_events'::regclass, 'dpfda_outputs'::regclass)"
            ).fetchall()
            indices = connection.execute(
                "SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
                "WHERE i.indrelid = 'dpfda_events'::regclass AND i.indisunique AND i.indisvalid"
            ).fetchall()
            checks = connection.execute(
                "SELECT count(*) FROM pg_constraint WHERE conrelid = 'dpfda_events'::regclass AND contype = 'c' "
                "AND convalidated"
            ).fetchone()
        found = dict(triggers)
        missing = [name for name, body in bodies().items() if found.get(name) != body]
        missing += [name for name in INDICES if (name,) not in indices]
        return missing + ([] if checks == (CHECKS,) else ["dpfda_events_check"])

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[tuple[psycopg.Connection[Any], list[tuple[Any, ...]]]]:
        """What happens inside is committed; starts with what the last statement of `begin` finds."""
        with self._troubles(), FORK_LOCK.inside(), self._alone():
            connection, found = self._begun(begin)
            try:
                yield connection, found
                connection.execute("COMMIT")
            except BaseException:
                self._undo(connection)
                raise

    def _begun(self, begin: str) -> tuple[psycopg.Connection[Any], list[tuple[Any, ...]]]:
        """A connection in a transaction; one that was lost since its last use is opened anew, as nothing was begun."""
        from psycopg import OperationalError

        kept = self._session.connection
        for connection in (kept, None):
            if connection is None or connection.closed:
                connection = self._session.connection = self._connect()
                kept = None
            try:
                cursor = connection.execute(begin.encode())
                while cursor.nextset():
                    pass
                return connection, cursor.fetchall()
            except BaseException as error:
                self._undo(connection)
                if kept is None or not isinstance(error, OperationalError) or not connection.closed:
                    raise
        raise AssertionError("the second round returns or raises")

    def _undo(self, connection: psycopg.Connection[Any]) -> None:
        with suppress(Exception):
            connection.execute("ROLLBACK")
        if connection.info.transaction_status != 0:
            self._session.close()  # whatever it is in the middle of, the server ends it

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One thread at a time."""
        if not self._session.lock.acquire(timeout=PATIENCE):
            raise DataError(_busy(self.name))
        try:
            yield
        finally:
            self._session.lock.release()

    def _connect(self) -> psycopg.Connection[Any]:
        import psycopg

        # Prepared statements would not survive a pooler between here and the server.
        return psycopg.connect(self.url, autocommit=True, connect_timeout=10, prepare_threshold=None)

    @contextmanager
    def _troubles(self) -> Iterator[None]:
        """What the server or the way to it did, in public words and without the password."""
        import psycopg

        try:
            yield
            return
        except psycopg.Error as error:
            problem = self._problem(error)
        # Outside of the handler: no chain of frames goes with it.
        raise problem from None

    def _problem(self, error: psycopg.Error) -> DpfdaError:
        from psycopg import errors

        # What only a damaged ledger gives: statements here are right, and the tables are those that were made.
        damage = (errors.UndefinedTable, errors.UndefinedColumn, errors.InternalError, errors.DataError)
        said = " ".join((error.diag.message_primary or str(error)).split())
        if any(secret in said for secret in secrets_of(self.url)) or "..." in self.name.removesuffix(":..."):
            said = "the address cannot be understood, or a part of it that is not shown here"
        if isinstance(error, errors.IntegrityError):
            return LedgerDamaged(
                f"The ledger {self.name} refused an entry by its own guard: {said.removeprefix('dpfda: ')}. Nothing "
                "was entered."
            )
        if isinstance(error, errors.UndefinedTable) and "dpfda_ledger" in said:
            return NoLedger(self.name)
        if isinstance(error, damage):
            return LedgerDamaged(f"The ledger {self.name} is damaged: {said}. Nothing was entered.")
        if isinstance(error, errors.LockNotAvailable):
            return DataError(_busy(self.name))
        if isinstance(error, errors.ReadOnlySqlTransaction | errors.InsufficientPrivilege | errors.DiskFull):
            return DataError(f"The ledger {self.name} cannot be written: {said}. Nothing was entered.")
        connection = self._session.connection
        if isinstance(error, errors.OperationalError) and connection is not None and connection.closed:
            return Lost(self.name, said)
        return DataError(f"The ledger {self.name} cannot be used: {said}. Nothing was entered.")


class _PostgresSession(DatabaseSession):
    """A connection, and the lock for the threads that use it in turn."""

    def __init__(self) -> None:
        self.connection: psycopg.Connection[Any] | None = None
        self.lock = threading.Lock()

    def close(self) -> None:
        if self.connection is not None:
            with suppress(Exception):
                self.connection.close()


def _busy(name: str) -> str:
    return f"The ledger {name} was kept busy by others for {PATIENCE:g} seconds. Nothing was entered; try again."
