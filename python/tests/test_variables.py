"""The script's variables: what is taken, and where it goes."""

import collections
import subprocess
import sys
import textwrap
import unittest

import scene
import torch

from rubato.takeover import variables


class PlainTest(unittest.TestCase):
    def test_takes_values_that_mean_the_same_everywhere(self):
        for value in (1, 0.5, "text", None, True, [1, (2, {"a": {3}})], torch.tensor(2.0),
                      collections.deque([1])):
            self.assertTrue(variables.is_plain(value), value)

    def test_leaves_what_belongs_to_a_worker(self):
        for value in (object(), open, [object()], {"a": torch.nn.Linear(1, 1)}, torch.zeros(3),
                      torch.zeros(1, requires_grad=True)):
            self.assertFalse(variables.is_plain(value), value)

    def test_ends_with_lists_in_lists_without_end(self):
        endless = []
        endless.append(endless)

        self.assertFalse(variables.is_plain(endless))


class UnpackTest(unittest.TestCase):
    def test_changes_lists_and_dictionaries_in_place(self):
        history, best = [1], {"a": 1}
        names = {"history": history, "best": best, "count": 1}

        variables.unpack(names, {"history": [1, 2], "best": {"b": 2}, "count": 7})

        self.assertEqual((history, best, names["count"]), ([1, 2], {"b": 2}, 7))


class FrameTest(scene.ScriptCase):
    def test_moves_variables_from_one_process_to_another(self):
        text = """
            import pickle, sys
            from rubato.takeover import variables
            class Meter:
                def __init__(self):
                    self.count, self.file = 0, sys.stdout
            best = 0.0
            def loop(history, meter, number):
                give = sys.argv[1] == "give"
                if give:
                    history.append(0.5); meter.count = 9; number = 3
                    globals()["best"] = 0.75
                    sys.stdout.buffer.write(pickle.dumps(variables.capture()))
                else:
                    variables.install(pickle.loads(sys.stdin.buffer.read()))
                    print(number, history, meter.count, meter.file is sys.stdout, best)
            def main():
                history, outer = [], "of main"
                keep = history
                loop(history, Meter(), 1)
                if sys.argv[1] == "take":
                    print(keep, outer)
            main()
        """
        path = self.write(textwrap.dedent(text))
        given = subprocess.run([sys.executable, str(path), "give"], env=scene.ENVIRONMENT,
                               stdout=subprocess.PIPE, check=True)
        taken = subprocess.run([sys.executable, str(path), "take"], env=scene.ENVIRONMENT,
                               input=given.stdout, stdout=subprocess.PIPE, check=True)

        self.assertEqual(taken.stdout.decode(), "3 [0.5] 9 True 0.75\n[0.5] of main\n")


if __name__ == "__main__":
    unittest.main()
