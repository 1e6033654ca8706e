"""What the user is told, each thing once."""

import sys
from typing import Callable, Dict, Optional


class Notices:
    """Sentences for people: on standard error, and to whoever supervises the job."""

    def __init__(self) -> None:
        self.told: Dict[str, str] = {}
        self.forward: Optional[Callable[[str, str], None]] = None

    def tell(self, key: str, sentence: str) -> None:
        """Says it unless something has been said under this key."""
        if key in self.told:
            return
        self.told[key] = sentence
        try:
            print(f"rubato: {sentence}", file=sys.stderr, flush=True)
        except (OSError, ValueError):
            pass  # The script has closed its standard error.
        if self.forward is not None:
            self.forward(key, sentence)
