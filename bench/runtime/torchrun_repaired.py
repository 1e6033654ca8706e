"""torchrun, which does not start in torch 1.13 on Python 3.11.

Iterating over flags no longer yields the one that is zero, so `Std.from_str("0")` finds nothing.
"""

from torch.distributed.elastic.multiprocessing import api

original = api.Std.from_str.__func__


def from_str(cls: type, text: str) -> object:
    return cls(int(text)) if text.isdigit() else original(cls, text)


api.Std.from_str = classmethod(from_str)

if __name__ == "__main__":
    from torch.distributed.run import main

    main()
