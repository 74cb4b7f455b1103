"""Everything that is remembered, in one SQLite file; the only package that knows SQL.

One method = one thing remembered = one transaction, on the disk when the method returns. Records are added and never
changed; what changes (a lease, which decision stands, whether a verdict was withdrawn) is a column, and only unfinished
work is replaced. Every method raises `StorageFailed` where the disk or the database refuses, and what was stored before
stays as it was.
"""

from realign.store.decisions import Decisions
from realign.store.engine import Database
from realign.store.leases import Lease, Queue
from realign.store.preferences import Preferences
from realign.store.results import Results
from realign.store.tallies import DayTally, Progress, Tallies
from realign.store.texts import AddedPrompts, Texts
from realign.store.unfinished import UnfinishedWork

__all__ = ["AddedPrompts", "DayTally", "Lease", "Progress", "Store"]


class Store(Texts, Queue, Decisions, UnfinishedWork, Preferences, Tallies, Results):
    """The memory of one installation; safe to share between threads and to open from several processes."""

    def __init__(self, url: str) -> None:
        """Open the database at `url` (`sqlite:///path`), creating folder, file and tables where they are missing.

        Raises `InvalidInput` for an address that is not a file and `StorageFailed` for a file that cannot be used.
        """
        super().__init__(Database(url))

    def close(self) -> None:
        """Close the database; the store must not be used afterwards."""
        self._database.close()
