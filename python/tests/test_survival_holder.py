"""The holder: to whoever starts a leader it looks like the script alone."""

import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

import survival_scene
from survival_scene import alive

# Without torch: the holder is there before it, and must not need it.
START = """
import os, signal, sys, time
from rubato.split.survival.install import start
start()
"""


class HolderTest(survival_scene.SurvivalCase):
    def popen(self, text, *, before="", **options):
        path = self.write(before + START + text)
        process = subprocess.Popen(
            [sys.executable, "-B", str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, env=survival_scene.environment_of(),
            **{"start_new_session": True, **options})
        self.addCleanup(self.end, process)
        return process

    def end(self, process):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        process.stdout.close()
        process.stderr.close()

    def leader_of(self, process):
        """Scripts here say first that they have come so far."""
        return int(process.stdout.readline())

    def result(self, text, **options):
        process = self.popen(text, **options)
        out, error = process.communicate(options.get("input"), timeout=30)
        return process.returncode, out, error

    def test_ends_with_the_code_of_the_script(self):
        for text, code in (("", 0), ("sys.exit(7)", 7), ("raise ValueError(3)", 1),
                           ("os._exit(9)", 9), ("sys.exit('no')", 1)):
            with self.subTest(text):
                self.assertEqual(self.result(text)[0], code)

    def test_ends_by_the_signal_that_ended_the_script(self):
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGUSR1):
            with self.subTest(number):
                self.assertEqual(self.result(f"os.kill(os.getpid(), {int(number)})")[0], -number)

    def test_leaves_streams_as_they_are(self):
        text = "print(sys.stdin.read(), sys.stdout.isatty(), sys.stdout.fileno(), sys.stdout)"
        process = self.popen(text, stdin=subprocess.PIPE)
        out, _ = process.communicate("asked", timeout=30)
        plain = subprocess.run([sys.executable, "-c", "import sys;" + text], input="asked",
                               text=True, stdout=subprocess.PIPE, timeout=30, check=True)

        self.assertEqual(out, plain.stdout)

    def test_new_files_get_the_numbers_they_always_had(self):
        plain = subprocess.run([sys.executable, "-c", "print(open('/dev/null').fileno())"],
                               text=True, stdout=subprocess.PIPE, timeout=30, check=True)

        self.assertEqual(self.result("print(open('/dev/null').fileno())")[1], plain.stdout)

    def test_the_script_stays_in_the_group_it_was_started_in(self):
        process = self.popen("print(os.getpgid(0), os.getpid())")
        group, leader = map(int, process.stdout.readline().split())

        self.assertEqual(group, process.pid)
        self.assertNotEqual(leader, process.pid)

    def test_a_signal_to_the_holder_reaches_the_script(self):
        process = self.popen("""
signal.signal(signal.SIGUSR1, lambda *_: print("heard", flush=True))
print(os.getpid(), flush=True)
signal.pause()
""")
        self.leader_of(process)
        os.kill(process.pid, signal.SIGUSR1)

        self.assertEqual(process.stdout.readline(), "heard\n")
        self.assertEqual(process.wait(30), 0)

    def popen_that_prints_signals(self):
        """Ends when it gets a line to read."""
        return self.popen("""
import select
# A signal just before a call that waits would be handled after it: the byte ends the wait.
wake, wakes = os.pipe()
os.set_blocking(wakes, False)
signal.set_wakeup_fd(wakes)
for number in (signal.SIGTERM, signal.SIGUSR1):
    signal.signal(number, lambda *_: print("heard", flush=True))
print(os.getpid(), flush=True)
while 0 not in (ready := select.select([0, wake], [], [])[0]):
    os.read(wake, 1)
""", stdin=subprocess.PIPE)

    def test_a_signal_to_the_group_reaches_the_script_once(self):
        process = self.popen_that_prints_signals()
        self.leader_of(process)
        for _ in range(3):
            os.killpg(process.pid, signal.SIGTERM)
            self.assertEqual(process.stdout.readline(), "heard\n")
        # Not to the group: this one is passed on. Another SIGTERM might become one with the last.
        os.kill(process.pid, signal.SIGUSR1)
        self.assertEqual(process.stdout.readline(), "heard\n")
        out, _ = process.communicate("end\n", timeout=30)

        self.assertEqual(out, "")
        self.assertEqual(process.returncode, 0)

    def test_a_probe_that_comes_late_lets_no_signal_reach_the_script_twice(self):
        process = self.popen_that_prints_signals()
        leader = self.leader_of(process)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        probe, = {int(child) for child in children} - {leader}
        os.kill(probe, signal.SIGSTOP)
        os.killpg(process.pid, signal.SIGTERM)
        self.assertEqual(process.stdout.readline(), "heard\n")
        time.sleep(0.1)  # As on a machine with too few processors.
        os.kill(probe, signal.SIGCONT)
        os.kill(process.pid, signal.SIGUSR1)
        self.assertEqual(process.stdout.readline(), "heard\n")
        out, _ = process.communicate("end\n", timeout=30)

        self.assertEqual(out, "")

    def test_a_signal_to_the_group_before_there_is_a_probe_reaches_the_script_once(self):
        code, out, _ = self.result("""
for _ in range(20):
    time.sleep(0.01)
print("end")
""", before="""
import os, signal, time
from rubato.split.survival import holder
class LateProbe(holder.GroupProbe):
    def __init__(self, *given):
        os.killpg(0, signal.SIGUSR1)
        time.sleep(0.1)
        super().__init__(*given)
holder.GroupProbe = LateProbe
signal.signal(signal.SIGUSR1, lambda *_: print("heard", flush=True))
""")

        self.assertEqual(out, "heard\nend\n")
        self.assertEqual(code, 0)

    def test_stops_and_goes_on_with_the_script(self):
        process = self.popen("""
print(os.getpid(), flush=True)
os.kill(os.getpid(), signal.SIGTSTP)
print("again", flush=True)
""", start_new_session=False, preexec_fn=os.setpgrp)
        self.leader_of(process)
        stopped = os.waitid(os.P_PID, process.pid, os.WSTOPPED)
        os.kill(process.pid, signal.SIGCONT)

        self.assertEqual(stopped.si_code, os.CLD_STOPPED)
        self.assertEqual(process.stdout.readline(), "again\n")
        self.assertEqual(process.wait(30), 0)

    def test_the_script_ends_with_its_holder(self):
        process = self.popen("print(os.getpid(), flush=True)\ntime.sleep(60)")
        leader = self.leader_of(process)
        os.kill(process.pid, signal.SIGKILL)
        process.wait(30)

        until = time.monotonic() + 10
        while alive(leader) and time.monotonic() < until:
            time.sleep(0.005)
        self.assertFalse(alive(leader))

    def test_adopts_what_a_script_leaves_behind_and_does_not_wait_for_it(self):
        process = self.popen("""
print(os.getpid(), flush=True)
if os.fork() == 0:
    os.setsid()
    os.close(1)
    os.close(2)
    time.sleep(60)
time.sleep(0.05)
print(open(f"/proc/self/task/{os.getpid()}/children").read())
""")
        self.leader_of(process)
        child = int(process.stdout.readline())

        self.assertEqual(process.wait(30), 0)
        self.assertTrue(alive(child))
        os.kill(child, signal.SIGKILL)

    def test_runs_no_part_of_the_script_twice(self):
        mark = self.folder / "marks"
        self.result(f"open({str(mark)!r}, 'a').write('once')")

        self.assertEqual(Path(mark).read_text(), "once")


if __name__ == "__main__":
    unittest.main()
