"""What runs brought home: promotions, games with their verdicts, scores."""

from collections.abc import Iterable

from sqlalchemy import bindparam, delete, func, insert, select, update

from realign.errors import NotFound
from realign.records import Actor, Game, Promotion, Score, Verdict
from realign.store import tables
from realign.store.shelf import Shelf, add_new, require
from realign.store.tables import collected_runs, games, promotions, prompts, scores, verdicts

# Every screen asks this, and putting the statement together takes SQLAlchemy longer than running it.
_PROMOTED = (
    select(promotions.c.record)
    .where(promotions.c.actor == bindparam("wanted"))
    .order_by(promotions.c.number.desc())
    .limit(1)
)


class Results(Shelf):
    """Which models are in use, and what they are worth."""

    def promote(self, promotion: Promotion) -> None:
        """Store a promotion; the same id again changes nothing.

        No prompt has a revision by the models in use any more, whatever earlier ones wrote for it.
        """
        row = {"id": promotion.id, "actor": promotion.actor, "record": promotion.model_dump_json()}
        with self._database.writing() as connection:
            if add_new(connection, promotions, [row]):
                connection.execute(update(prompts).where(prompts.c.unrevised.is_(False)).values(unrevised=True))

    def promoted(self, actor: Actor) -> Promotion | None:
        """Return the latest promotion of `actor`; none means the configured base is in use."""
        found = self._all(Promotion, _PROMOTED, wanted=actor)
        return found[0] if found else None

    def promotions(self) -> list[Promotion]:
        """Return every promotion, newest first."""
        return self._all(Promotion, select(promotions.c.record).order_by(promotions.c.number.desc()))

    def add_games(self, games: Iterable[Game]) -> int:
        """Store games in the order given; known ids are skipped. Return how many were new."""
        rows = [{"id": game.id, "run": game.run, "record": game.model_dump_json()} for game in games]
        with self._database.writing() as connection:
            return add_new(connection, tables.games, rows)

    def games(self, run: str) -> list[Game]:
        """Return the games of a run in the order they were added."""
        return self._all(Game, select(games.c.record).where(games.c.run == run).order_by(games.c.number))

    def next_game(self, run: str, judge: str) -> Game | None:
        """Return the first game of `run` that `judge` gave no verdict on; none when all are judged."""
        judged = select(verdicts.c.game_id).where(verdicts.c.judge == judge, ~verdicts.c.withdrawn)
        wanted = (games.c.run == run) & games.c.id.not_in(judged)
        found = self._all(Game, select(games.c.record).where(wanted).order_by(games.c.number).limit(1))
        return found[0] if found else None

    def add_verdict(self, verdict: Verdict) -> None:
        """Store a verdict; the same id again changes nothing. Raises `NotFound` for an unknown game."""
        row = {
            "id": verdict.id,
            "game_id": verdict.game_id,
            "judge": verdict.judge,
            "record": verdict.model_dump_json(),
        }
        with self._database.writing() as connection:
            require(connection, tables.games, {verdict.game_id}, "A verdict")
            add_new(connection, verdicts, [row])

    def withdraw_verdict(self, game_id: str, judge: str) -> None:
        """Take back the latest verdict of `judge` on a game, so that an earlier one counts; `NotFound` without any."""
        standing = (verdicts.c.game_id == game_id) & (verdicts.c.judge == judge) & ~verdicts.c.withdrawn
        with self._database.writing() as connection:
            latest = connection.scalar(select(func.max(verdicts.c.number)).where(standing))
            if latest is None:
                raise NotFound(f"{judge} has no verdict on game '{game_id}' to take back.")
            connection.execute(update(verdicts).where(verdicts.c.number == latest).values(withdrawn=True))

    def verdicts(self, run: str, judge: str | None = None) -> list[Verdict]:
        """Return the latest verdict of each judge, or of one, on each game of `run`, in the order they were made."""
        latest = (
            select(func.max(verdicts.c.number))
            .join_from(verdicts, games)
            .where(games.c.run == run, ~verdicts.c.withdrawn)
            .group_by(verdicts.c.game_id, verdicts.c.judge)
        )
        if judge is not None:
            latest = latest.where(verdicts.c.judge == judge)
        wanted = verdicts.c.number.in_(latest)
        return self._all(Verdict, select(verdicts.c.record).where(wanted).order_by(verdicts.c.number))

    def set_score(self, score: Score) -> None:
        """Store a score in place of the one of the same run and judge: it can be computed again from the verdicts."""
        row = {"id": score.id, "run": score.run, "judge": score.judge, "record": score.model_dump_json()}
        with self._database.writing() as connection:
            connection.execute(delete(scores).where(scores.c.run == score.run, scores.c.judge == score.judge))
            connection.execute(insert(scores).values(row))

    def scores(self) -> list[Score]:
        """Return every score, the one set last first."""
        return self._all(Score, select(scores.c.record).order_by(scores.c.number.desc()))

    def mark_collected(self, run: str) -> None:
        """Remember that what `run` made is stored."""
        with self._database.writing() as connection:
            add_new(connection, collected_runs, [{"run": run}], known_by="run")

    def is_collected(self, run: str) -> bool:
        """Say whether what `run` made is stored."""
        with self._database.reading() as connection:
            return connection.scalar(select(collected_runs.c.run).where(collected_runs.c.run == run)) is not None
