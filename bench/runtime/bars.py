"""What the runtime has to reach, and the table that says whether it did."""

from typing import Any, Dict, List, NamedTuple


class Bar(NamedTuple):
    """A figure and its limit: at least for ratios, at most for overheads."""

    key: str
    about: str
    limit: float

    @property
    def is_overhead(self) -> bool:
        return "overhead" in self.key

    def is_met(self, value: float) -> bool:
        return value <= self.limit if self.is_overhead else value >= self.limit

    def text(self, value: float) -> str:
        return f"{value:+.2%}" if self.is_overhead else f"{value:.2f}x"


BARS = [
    Bar("pause_grow_vs_torchrun", "pause when growing, torchrun / ours", 100),
    Bar("pause_grow_vs_reinit", "pause when growing, re-init / ours", 4),
    Bar("order_vs_torchrun", "order to first step at new size, torchrun / ours", 15),
    Bar("recovery_vs_torchrun", "SIGKILL to next step, torchrun / ours", 20),
    Bar("allreduce_4k_vs_gloo", "all-reduce of 4 KiB, gloo / ours", 50),
    Bar("allreduce_1m_vs_gloo", "all-reduce of 1 MiB, gloo / ours", 8),
    Bar("allreduce_64m_vs_gloo", "all-reduce of 64 MiB, gloo / ours", 5),
    Bar("allreduce_1m_vs_openmpi", "all-reduce of 1 MiB, OpenMPI / ours", 2),
    Bar("throughput_cnn_vs_ddp", "samples/s of cnn, 2 workers, ours / DDP", 1.1),
    Bar("throughput_lm_vs_ddp", "samples/s of lm, 2 workers, ours / DDP", 1.25),
    Bar("throughput_widedeep_vs_ddp", "samples/s of widedeep, 2 workers, ours / DDP", 1.8),
    Bar("throughput_cnn_vs_ddp_4", "samples/s of cnn, 4 workers, ours / DDP", 1.0),
    Bar("throughput_lm_vs_ddp_4", "samples/s of lm, 4 workers, ours / DDP", 1.0),
    Bar("throughput_widedeep_vs_ddp_4", "samples/s of widedeep, 4 workers, ours / DDP", 1.0),
    Bar("single_cnn_one_vs_plain", "script on one worker, cnn, plain Python / ours", 0.97),
    Bar("single_lm_one_vs_plain", "script on one worker, lm, plain Python / ours", 0.97),
    Bar("single_widedeep_one_vs_plain", "script on one worker, widedeep, plain / ours", 0.97),
    Bar("single_cnn_vs_plain", "script on two workers, cnn, plain Python / ours", 1.5),
    Bar("single_lm_vs_plain", "script on two workers, lm, plain Python / ours", 1.7),
    Bar("single_widedeep_vs_plain", "script on two workers, widedeep, plain / ours", 1.5),
    Bar("single_cnn_vs_one", "script on two workers, cnn, our one worker / ours", 1.0),
    Bar("single_lm_vs_one", "script on two workers, lm, our one worker / ours", 1.0),
    Bar("single_widedeep_vs_one", "script on two workers, widedeep, our one / ours", 1.0),
    Bar("single_cnn_vs_spmd", "script on two workers, cnn, trainer / ours", 0.95),
    Bar("single_lm_vs_spmd", "script on two workers, lm, trainer / ours", 1.0),
    Bar("single_widedeep_vs_spmd", "script on two workers, widedeep, trainer / ours", 0.95),
    Bar("wrapper_overhead_cnn", "processor time of the trainer, cnn", 0.02),
    Bar("noise_scale_overhead_cnn", "processor time of noise scale, cnn", 0.01),
]


def table(result: Dict[str, Any]) -> str:
    """One line per bar: peer, ours, ratio, the rounds' spread, limit."""
    lines = [("what", "peer", "ours", "ratio", "spread", "bar", "")]
    for bar in BARS:
        value = result.get(bar.key)
        if value is None:
            lines.append((bar.about, "-", "-", "-", "-", bar.text(bar.limit), "not measured"))
            continue
        sides = result["sides"][bar.key]
        spread = sides.get("spread")
        lines.append((
            bar.about, sides["peer"], sides["ours"], bar.text(value),
            " to ".join(map(bar.text, spread)) if spread else "-",
            ("<= " if bar.is_overhead else ">= ") + bar.text(bar.limit),
            "met" if bar.is_met(value) else "MISSED",
        ))
    return drawn(lines)


def drawn(lines: List[Any]) -> str:
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip()
        for line in lines
    )
