"""The fused step against torch's own, bit by bit."""

import unittest

import scene  # noqa: F401  Leaves if torch is not installed.
import torch

from rubato._core import split
from rubato.split.fused import kernels

SIZES = [*range(1, 70), 127, 1000, 8191, 8192, 8193, 8229, 20011]
SGD = [
    {},
    {"momentum": 0.9},
    {"lr": 0.0513, "momentum": 0.9, "weight_decay": 1e-4},
    {"momentum": 0.9, "weight_decay": 1e-4, "nesterov": True},
    {"momentum": 0.9, "dampening": 0.1},
    {"lr": 0.1, "weight_decay": 0.01},
]
ADAM = [
    {"lr": 3e-3},
    {"lr": 3e-3, "weight_decay": 1e-2},
    {"lr": 1.3e-3, "betas": (0.85, 0.98), "eps": 1e-6},
]
ADAMW = [{"weight_decay": 1e-2}, {"weight_decay": 0.1}]
CASES = [
    *[(torch.optim.SGD, {**kernels.SGD, **options}) for options in SGD],
    *[(torch.optim.Adam, {**kernels.ADAM, **options}) for options in ADAM],
    *[(torch.optim.AdamW, {**kernels.ADAM, **options}) for options in ADAMW],
]


def differences(is_fused):
    """How many of how many comparisons differ in any bit."""
    generator = torch.Generator().manual_seed(1)
    found = [differs for kind, options in CASES for size in SIZES
             for differs in kernels.steps_differ(kind, options, size, generator, is_fused)]
    return sum(found), len(found)


class KernelTest(unittest.TestCase):
    def test_the_chosen_one_is_torchs_own_in_every_bit(self):
        kind = kernels.matching_kind()
        self.assertIsNotNone(kind, "torch has other kernels than ours here")

        wrong, compared = differences(kind)

        self.assertEqual(wrong, 0, f"of {compared}")
        self.assertGreater(compared, 3000)

    @unittest.skipUnless(split.has_fused_step(), "there is only one kind here")
    def test_the_other_one_is_not(self):
        wrong, compared = differences(not kernels.matching_kind())

        self.assertGreater(wrong, compared // 4)

    def test_a_negative_zero_stays_only_where_nothing_was_before(self):
        zero = torch.tensor([-0.0, -0.0, -0.0])
        for base, expected in ((0, True), (1, False)):
            gradient = torch.ones(3)
            work = split.StepWork()
            work.set_parts(base, [zero.data_ptr()])
            table = split.StepTable([(0, gradient.data_ptr(), 0, 0, 0, 3, 0)])
            table.run_alone(work, split.has_fused_step())

            self.assertEqual(torch.signbit(gradient).all().item(), expected)

    def test_entries_without_a_gradient_are_left_alone(self):
        parameters = [torch.ones(9000), torch.ones(5)]
        gradient = torch.ones(5)
        work = split.StepWork()
        work.set_sgd(1, 0.5, 0, 0, 0, False)
        table = split.StepTable([(p.data_ptr(), 0, 0, 0, 0, p.numel(), 1) for p in parameters])
        table.set_gradients([0, gradient.data_ptr()])
        table.run_alone(work, split.has_fused_step())

        self.assertEqual([p.unique().tolist() for p in parameters], [[1.0], [0.5]])
        self.assertEqual(table.pieces, 3)


if __name__ == "__main__":
    unittest.main()
