"""Preferences between two drafts of a prompt: one live chain for each prompt, nothing ever overwritten."""

from sqlalchemy import Connection, delete, insert, select, update

from realign.errors import Conflict, InvalidInput
from realign.records import Preference
from realign.store import tables
from realign.store.shelf import Shelf, load, record_of, require
from realign.store.tables import drafts, leases, prompts


class Preferences(Shelf):
    """Which of two drafts people found better."""

    def prefer(self, preference: Preference) -> Preference:
        """Store a preference, end the lease on its prompt, and return it; the same id again returns what is stored.

        `supersedes` must name the preference that stands for the prompt, or nothing where none does; else `Conflict`.
        Raises `NotFound` for an unknown prompt, and `InvalidInput` unless these are two drafts of it.
        """
        preferences = tables.preferences
        with self._database.writing() as connection:
            stored = connection.scalar(select(preferences.c.record).where(preferences.c.id == preference.id))
            if stored is not None:
                return load(Preference, stored)
            _check_drafts(connection, preference)
            live = _live(connection, preference.prompt_id)
            _check_chain(preference, live)
            if live is not None:
                connection.execute(update(preferences).where(preferences.c.id == live.id).values(live=False))
            row = {
                "id": preference.id,
                "prompt_id": preference.prompt_id,
                "left_id": preference.left_id,
                "right_id": preference.right_id,
                "annotator": preference.annotator,
                "live": True,
                "record": preference.model_dump_json(),
            }
            connection.execute(insert(preferences).values(row))
            asked = prompts.c.id == preference.prompt_id
            connection.execute(update(prompts).where(asked).values(live_preference=preference.id))
            connection.execute(delete(leases).where(leases.c.prompt_id == preference.prompt_id))
        return preference

    def live_preference(self, prompt_id: str) -> Preference | None:
        """Return the preference that stands for a prompt; none while it waits for one."""
        with self._database.reading() as connection:
            return _live(connection, prompt_id)

    def preferences(self) -> list[Preference]:
        """Return every live preference, oldest first, also those that were passed over."""
        preferences = tables.preferences
        live = select(preferences.c.record).where(preferences.c.live.is_(True))
        return self._all(Preference, live.order_by(preferences.c.number))

    def last_preference(self, annotator: str) -> Preference | None:
        """Return what `annotator` preferred last and neither they nor anybody else changed since."""
        preferences = tables.preferences
        own = (preferences.c.annotator == annotator) & preferences.c.live.is_(True)
        latest = select(preferences.c.record).where(own).order_by(preferences.c.number.desc()).limit(1)
        found = self._all(Preference, latest)
        return found[0] if found else None

    def withdraw_preference(self, id: str) -> None:  # noqa: A002 - the field's name
        """Take back a preference that stands, so that its prompt waits for one again; the record stays.

        Raises `NotFound` where there is none and `Conflict` where it was taken back or changed already.
        """
        preferences = tables.preferences
        with self._database.writing() as connection:
            preference = record_of(connection, Preference, preferences, id)
            live = _live(connection, preference.prompt_id)
            if live is None or live.id != id:
                raise Conflict("This preference was taken back or changed already. Open the prompt again.")
            connection.execute(update(preferences).where(preferences.c.id == id).values(live=False))
            asked = prompts.c.id == preference.prompt_id
            connection.execute(update(prompts).where(asked).values(live_preference=None))


def _live(connection: Connection, prompt_id: str) -> Preference | None:
    preferences = tables.preferences
    standing = prompts.join(preferences, prompts.c.live_preference == preferences.c.id)
    text = connection.scalar(select(preferences.c.record).select_from(standing).where(prompts.c.id == prompt_id))
    return load(Preference, text) if text else None


def _check_drafts(connection: Connection, preference: Preference) -> None:
    require(connection, prompts, {preference.prompt_id}, "A preference")
    named = {preference.left_id, preference.right_id}
    of_prompt = drafts.c.id.in_(named) & (drafts.c.prompt_id == preference.prompt_id)
    if len(set(connection.scalars(select(drafts.c.id).where(of_prompt)))) < 2:
        raise InvalidInput(
            f"Preference '{preference.id}' compares '{preference.left_id}' with '{preference.right_id}', which are not "
            f"two drafts of prompt '{preference.prompt_id}'. Open the prompt again."
        )


def _check_chain(preference: Preference, live: Preference | None) -> None:
    if live is None and preference.supersedes:
        raise Conflict("The preference this one would change was taken back already. Open the prompt again.")
    if live is not None and preference.supersedes != live.id:
        raise Conflict(
            f"{live.annotator} has compared drafts of this prompt in the meantime. Open the prompt again to see what "
            "they preferred and change it."
        )
