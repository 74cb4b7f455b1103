"""Two drafts of one prompt in front of one person: the second kind of task, whose answers are on-policy pairs."""

from typing import Literal

from realign import orders, pairing
from realign.curation.ruling import side_of
from realign.desk import LEASE, Desk
from realign.errors import InvalidInput, NotFound
from realign.generation.recipe import draft_of
from realign.records import Draft, Preference, Side, TwoDrafts, Work
from realign.store import Lease


class DraftsDesk:
    """What the curation screen calls while people compare drafts."""

    def __init__(self, desk: Desk) -> None:
        """Work with the store, models, clock and form of `desk`."""
        self.store, self.models, self.form = desk.store, desk.models, desk.form
        self._spec, self._now, self._new_id = desk.spec, desk.now, desk.new_id

    def next_two(self, seat: str) -> TwoDrafts | None:
        """Lease the next prompt on which nobody has said which of two drafts is better; none when none waits."""
        now = self._now()
        lease = self.store.lease_for_preference(seat, now, now + LEASE, self._new_id())
        return lease and self._two(lease)

    def pass_over(self, two: TwoDrafts, seat: str) -> TwoDrafts:
        """Leave a prompt whose drafts are still being written, without a preference, for the next one."""
        now = self._now()
        lease = self.store.lease_for_preference(seat, now, now + LEASE, self._new_id(), but=two.prompt.id)
        if lease is None:
            raise InvalidInput("This is the last prompt that waits. Wait until its drafts are written.")
        return self._two(lease)

    def write_two(self, two: TwoDrafts) -> TwoDrafts:
        """Let the policy write the drafts that are missing, at once."""
        spec = self._spec("policy")
        have = [draft for draft in (two.left, two.right) if draft]
        seed = len(self.store.drafts_of(two.prompt.id))
        decoding = orders.SAMPLING.model_copy(update={"seed": seed})
        chats = [two.prompt.messages] * (2 - len(have))
        for answer in self.models.write_together(spec, chats, decoding) if chats else ():
            draft = draft_of(self._new_id(), two.prompt, answer, self.models.backend(spec), decoding)
            self.store.add_drafts([draft])
            have.append(draft)
        return _on_sides(two, have)

    def prefer(
        self,
        two: TwoDrafts,
        preferred: Side | Literal["tie"] | None,
        work: Work | None = None,
        *,
        annotator: str,
        active_ms: int = 0,
    ) -> Preference:
        """Store which of two drafts is better; None passes the prompt over, which is no verdict."""
        if two.left is None or two.right is None:
            raise InvalidInput("There are no two drafts to compare yet. Wait until they are written.")
        work = work or Work()
        self.form.check("skipped", work)  # its limits; what a decision requires is asked of the final text
        return self.store.prefer(
            Preference(
                id=two.decision_id,
                prompt_id=two.prompt.id,
                left_id=two.left.id,
                right_id=two.right.id,
                preferred=preferred,
                annotator=annotator,
                reasons=tuple(dict.fromkeys(work.reasons)),
                comment=work.comment.strip(),
                started=two.started,
                decided=self._now(),
                active_ms=max(0, active_ms),
                supersedes=two.superseded.id if two.superseded else None,
            )
        )

    def undo_preference(self, annotator: str, seat: str) -> TwoDrafts | None:
        """Take back the last preference of `annotator` and put its drafts in front of them again."""
        last = self.store.last_preference(annotator)
        if last is None:
            raise NotFound("There is nothing to undo: you have not compared two drafts yet.")
        self.store.release(seat)
        self.store.withdraw_preference(last.id)
        return self.next_two(seat)

    def _two(self, lease: Lease) -> TwoDrafts:
        live = self.store.live_preference(lease.prompt.id)
        two = TwoDrafts(lease.prompt, None, None, lease.decision_id, lease.started, live)
        if live:
            return two._replace(left=self.store.draft(live.left_id), right=self.store.draft(live.right_id))
        policy = self._spec("policy")
        own = [draft for draft in self.store.drafts_of(lease.prompt.id) if pairing.wrote(policy, draft)]
        different = list({draft.text: draft for draft in own}.values())
        return _on_sides(two, different[-2:])


def _on_sides(two: TwoDrafts, drafts: list[Draft]) -> TwoDrafts:
    if len(drafts) < 2:
        return two._replace(left=drafts[0] if drafts else None, right=None)
    older, newer = drafts[:2]
    left, right = (older, newer) if side_of(two.decision_id) == "left" else (newer, older)
    return two._replace(left=left, right=right)
