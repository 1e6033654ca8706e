"""What a replica does while it waits for a request: pieces of optimizer steps."""

from typing import Any, List, Optional, Tuple


class HelpingMailbox:
    """A replica's mailbox whose waits help with steps."""

    def __init__(self, mailbox: Any, queue: Any, rank: int) -> None:
        self.mailbox, self.queue, self.rank = mailbox, queue, rank

    def wait_request(self, timeout_us: int) -> Optional[bytes]:
        return self.wait_request_or_work(timeout_us, [])

    def wait_request_or_work(self, timeout_us: int,
                             tickets: List[Tuple[int, int]]) -> Optional[bytes]:
        if timeout_us > 0:
            self.queue.help_until_work(self.mailbox, self.rank, timeout_us, tickets)
        return self.mailbox.wait_request(0)


class IdleSteps:
    """Whatever else a replica does while it waits, and steps."""

    def __init__(self, steps: Any, others: Any) -> None:
        self.steps, self.others = steps, others
        self.helping: Optional[HelpingMailbox] = None

    def wait(self, mailbox: Any, timeout_us: int) -> Optional[bytes]:
        """The next request, or nothing if none came in time."""
        if self.helping is None:
            rank = self.steps.controller.memory.mailboxes.index(mailbox)
            self.helping = HelpingMailbox(mailbox, self.steps.queue, rank)
        return self.others.wait(self.helping, timeout_us)
