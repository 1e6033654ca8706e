"""Whether sharing pays is judged right, with a clock that the test moves."""

import unittest

from rubato.split.worth import (AGAIN_AFTER_CALLS, AGAIN_AFTER_CALLS_UNSHARED, BLOCK_CALLS, ROUNDS,
                                Trial)

TRIAL_CALLS = 2 * ROUNDS * BLOCK_CALLS + 1


class Training:
    """Calls one after another; each takes what the kind of the call takes."""

    def __init__(self, shared_seconds, unshared_seconds):
        self.now = 0.0
        self.seconds = {True: shared_seconds, False: unshared_seconds}
        self.trial = Trial(2, clock=lambda: self.now)
        self.answers = []

    def call(self, extra=0.0, is_disturbed=False):
        shares = self.trial.shares(is_disturbed)
        self.answers.append(shares)
        self.now += self.seconds[shares] + extra
        return shares

    def calls(self, count):
        return [self.call() for _ in range(count)]


class TestTrial(unittest.TestCase):
    """Blocks of shared and unshared calls in turns, then the faster way."""

    def test_the_faster_way_is_chosen_after_as_many_calls_of_each(self):
        for shared, unshared in ((1.0, 2.0), (2.0, 1.0)):
            with self.subTest(shared=shared):
                training = Training(shared, unshared)
                training.calls(TRIAL_CALLS)

                self.assertIs(training.trial.choice, shared < unshared)
                self.assertEqual(training.answers.count(True) - training.answers.count(False),
                                 1 if shared < unshared else -1)

    def test_calls_that_something_else_made_longer_do_not_decide(self):
        """Two of three shared calls take three times as long."""
        training = Training(1.0, 1.5)
        for call in range(TRIAL_CALLS):
            is_shared = call // BLOCK_CALLS % 2 == 0
            training.call(extra=2.0 if is_shared and call % 3 else 0.0)

        self.assertIs(training.trial.choice, True)

    def test_sharing_that_is_slower_by_every_call_is_not_chosen(self):
        training = Training(1.1, 1.0)
        training.calls(TRIAL_CALLS)

        self.assertIs(training.trial.choice, False)

    def test_a_trial_that_was_disturbed_throughout_goes_on(self):
        training = Training(1.0, 2.0)
        for _ in range(3 * TRIAL_CALLS):
            training.call(is_disturbed=True)
        self.assertIsNone(training.trial.choice)

        training.calls(TRIAL_CALLS)
        self.assertIs(training.trial.choice, True)

    def test_a_no_is_looked_at_again_soon_and_then_ever_more_rarely(self):
        training = Training(2.0, 1.0)
        pauses = []
        for _ in range(8):
            training.calls(TRIAL_CALLS)
            calls = 0
            while training.trial.choice is not None:
                training.call()
                calls += 1
            pauses.append(calls)

        self.assertLessEqual(pauses[0], 2 * AGAIN_AFTER_CALLS_UNSHARED + 1)
        self.assertEqual(pauses, sorted(pauses))
        self.assertLessEqual(pauses[-1], AGAIN_AFTER_CALLS + 1)
        self.assertGreaterEqual(pauses[-1], AGAIN_AFTER_CALLS)

    def test_a_no_becomes_a_yes_once_sharing_is_faster(self):
        training = Training(2.0, 1.0)
        training.calls(TRIAL_CALLS)
        training.seconds[True] = 0.5
        training.calls(2 * AGAIN_AFTER_CALLS_UNSHARED + 2 * TRIAL_CALLS)

        self.assertIs(training.trial.choice, True)


if __name__ == "__main__":
    unittest.main()
