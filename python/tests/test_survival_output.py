"""Output that appears once, files that go back, memory that is saved: the pieces by themselves."""

import mmap
import os
import random
import unittest
from pathlib import Path

import scene
from rubato.split.survival import shared_memory
from rubato.split.survival.file_journal import FileJournal, FileWatch, TooLarge
from rubato.split.survival.open_files import OpenFiles, UnsafeDescriptor, descriptors
from rubato.split.survival.output import OutputRing, Repetition


def repeated(written, pieces, unknown=0):
    """What goes out of a stream that is given these pieces."""
    repetition = Repetition()
    repetition.expect(unknown, written)
    out = b"".join(repetition.new(piece) for piece in pieces)
    return out + repetition.rest(), repetition


class RepetitionTest(unittest.TestCase):
    def test_drops_what_was_written_and_keeps_what_is_new(self):
        text = b"one\ntwo\nthree\nfour\n"
        for end in range(len(text) + 1):
            for size in (1, 3, 100):
                with self.subTest(end=end, size=size):
                    pieces = [text[i : i + size] for i in range(0, len(text), size)]
                    out, repetition = repeated(text[:end], pieces)
                    self.assertEqual(text[:end] + out, text)
                    self.assertFalse(repetition.is_other)

    def test_times_may_differ_in_length(self):
        out, repetition = repeated(b"step 1: 9.9 s\nstep 2: 19.9 s\n",
                                   [b"step 1: 10.1 s\nstep 2: 20 s\nstep 3: 30 s\n"])

        self.assertEqual(out, b"step 3: 30 s\n")
        self.assertEqual(repetition.lines_other, 2)
        self.assertFalse(repetition.is_other)

    def test_another_line_ends_it(self):
        out, repetition = repeated(b"one\ntwo\nthree\n", [b"one\nelse\nthree\n"])

        self.assertEqual(out, b"else\nthree\n")
        self.assertTrue(repetition.is_other)

    def test_another_line_after_half_a_line_begins_a_new_one(self):
        out, _ = repeated(b"one\ntw", [b"one\nelse\n"])

        self.assertEqual(out, b"\nelse\n")

    def test_what_is_known_no_more_is_dropped_by_its_number(self):
        out, _ = repeated(b"two\n", [b"one\ntw", b"o\nthree\n"], unknown=4)

        self.assertEqual(out, b"three\n")

    def test_deaths_in_a_row_drop_what_all_have_written(self):
        chance = random.Random(4)
        text = b"".join(b"line %d of this\n" % i for i in range(40))
        for _ in range(200):
            # A leader, copied at `mark`, has `behind` of the log before it already.
            log, at, repetition = b"", 0, Repetition()
            while at < len(text):
                mark, end = at, min(len(text), at + chance.randrange(1, 120))
                kept = (repetition.unknown, repetition.written, repetition.held)
                new = repetition.new(text[at:end])
                log += new
                at = end
                if chance.random() < 0.4:  # Killed: the copy at `mark` goes on.
                    repetition = Repetition()
                    repetition.unknown, repetition.written, repetition.held = kept
                    repetition.expect(0, new)
                    at = mark
            self.assertEqual(log + repetition.rest(), text)


class OutputRingTest(unittest.TestCase):
    def test_remembers_the_last_bytes(self):
        chance = random.Random(7)
        ring = OutputRing(size=64)
        whole = b""
        for _ in range(300):
            piece = bytes(chance.randrange(256) for _ in range(chance.randrange(100)))
            ring.add(piece)
            whole += piece
            mark = chance.randrange(len(whole) + 1)
            self.assertEqual(ring.total, len(whole))
            self.assertEqual(ring.since(mark), whole[mark:][-64:])


class JournalTest(scene.ScriptCase):
    def setUp(self):
        super().setUp()
        self.journal = FileJournal()
        self.addCleanup(self.journal.close)

    def put(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    def test_brings_back_what_was_changed(self):
        grown, changed, removed = (self.put(n, "before") for n in ("grown", "changed", "removed"))
        new = str(self.folder / "new")
        self.journal.before_append(grown)
        for path in (changed, removed, new):
            self.journal.before_change(path)
        with open(grown, "a", encoding="utf-8") as file:
            file.write(", after")
        self.put("changed", "after")
        self.put("new", "after")
        os.unlink(removed)

        self.journal.undo()

        for path in (grown, changed, removed):
            self.assertEqual(Path(path).read_text(encoding="utf-8"), "before")
        self.assertFalse(os.path.exists(new))

    def test_a_file_that_grew_and_then_changed_comes_back_as_it_was(self):
        path = self.put("file", "before")
        self.journal.before_append(path)
        with open(path, "a", encoding="utf-8") as file:
            file.write(", after")
        self.journal.before_change(path)
        self.put("file", "else")

        self.journal.undo()

        self.assertEqual(Path(path).read_text(encoding="utf-8"), "before")

    def test_the_first_state_counts(self):
        path = self.put("file", "before")
        for text in ("one", "two"):
            self.journal.before_change(path)
            self.put("file", text)

        self.journal.undo()

        self.assertEqual(Path(path).read_text(encoding="utf-8"), "before")

    def test_folders_go_after_what_is_in_them(self):
        folder = self.folder / "runs" / "one"
        for path in (folder.parent, folder):
            self.journal.before_change(str(path))
            path.mkdir()
        self.journal.before_change(str(folder / "file"))
        (folder / "file").write_text("after")

        self.journal.undo()

        self.assertFalse(folder.parent.exists())

    def test_an_entry_that_was_cut_off_is_left_out(self):
        path = self.put("file", "before")
        self.journal.before_change(path)
        self.journal.before_change(self.put("other", "before"))
        os.ftruncate(self.journal.descriptor, os.fstat(self.journal.descriptor).st_size - 1)

        self.assertEqual([entry[0] for entry in self.journal.entries()], [path])

    def test_says_so_if_a_file_is_too_large(self):
        path = self.put("file", "")
        os.truncate(path, 1 << 30)

        with self.assertRaises(TooLarge):
            self.journal.before_change(path)

    def test_the_watch_gives_up_when_a_folder_is_renamed(self):
        given_up = []
        watch = FileWatch()
        watch.journal, watch.on_too_large = self.journal, given_up.append
        (self.folder / "old").mkdir()
        watch.on_rename(str(self.folder / "old"), str(self.folder / "new"), -1, -1)

        self.assertEqual(len(given_up), 1)
        self.assertIsNone(watch.journal)


class OpenFilesTest(scene.ScriptCase):
    def setUp(self):
        super().setUp()
        self.known = set(descriptors())

    def test_files_go_back_to_where_they_were(self):
        path = self.folder / "file"
        path.write_text("0123456789")
        with open(path, "r+b", buffering=0) as both, open(path, "ab", buffering=0) as more, \
                open(path, "rb", buffering=0) as reader:
            both.seek(3)
            reader.seek(5)
            files = OpenFiles(self.known)
            both.write(b"xx")
            more.write(b"yy")
            reader.read()

            files.restore()

            self.assertEqual((both.tell(), reader.tell()), (3, 5))
        self.assertEqual(path.read_text(), "0123456789")

    def test_pipes_and_sockets_are_unsafe(self):
        import socket

        reading, writing = os.pipe()
        with self.assertRaisesRegex(UnsafeDescriptor, "pipe"):
            OpenFiles(self.known)
        os.close(reading)
        os.close(writing)
        with socket.socket(), self.assertRaisesRegex(UnsafeDescriptor, "socket"):
            OpenFiles(self.known)


class SharedMemoryTest(unittest.TestCase):
    def test_brings_back_what_was_written(self):
        memory = mmap.mmap(-1, 16 * mmap.PAGESIZE)
        memory[0:5] = b"first"
        memory[9 * mmap.PAGESIZE : 9 * mmap.PAGESIZE + 6] = b"second"
        before = memory[:]
        saved = shared_memory.SavedMemory()
        memory[:] = b"x" * len(memory)

        saved.restore()

        self.assertEqual(memory[:], before)

    def test_what_is_excluded_stays(self):
        memory = mmap.mmap(-1, 4 * mmap.PAGESIZE)
        memory[:] = b"a" * len(memory)
        shared_memory.exclude_map(memory)
        saved = shared_memory.SavedMemory()
        memory[:] = b"b" * len(memory)

        saved.restore()

        self.assertEqual(memory[:], b"b" * len(memory))

    def test_a_range_without_its_excluded_parts(self):
        page = mmap.PAGESIZE
        shared_memory.exclude("test", 12 * page, 14 * page)
        self.addCleanup(shared_memory._excluded.pop, "test")
        cases = {(10, 20): [(10, 2), (14, 6)], (13, 20): [(14, 6)], (12, 14): [],
                 (10, 13): [(10, 2)], (1, 5): [(1, 4)], (14, 15): [(14, 1)]}
        for (begin, end), expected in cases.items():
            found = [(r.begin // page, r.size // page)
                     for r in shared_memory.without_excluded(begin * page, end * page)]
            self.assertEqual(found, expected)


if __name__ == "__main__":
    unittest.main()
