"""What needs no process. The protocol itself is tested in `sdk/rust/tests/conformance.rs`, the same cases for both SDKs."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from treewarden import Fence, StaleGeneration  # noqa: E402
from treewarden._lines import MAX_LINE, BrokenLine, Splitter, decode, dumps  # noqa: E402


class FenceTest(unittest.TestCase):
    def test_smaller_generation_is_refused_and_changes_nothing(self):
        """SUP-16"""
        fence = Fence()
        for generation in (0, 1, 1, 5):
            fence.admit(generation)
        with self.assertRaises(StaleGeneration):
            fence.admit(4)
        self.assertEqual(fence.greatest, 5)
        fence.admit(5)


class LinesTest(unittest.TestCase):
    def test_chunks_do_not_matter(self):
        data = b"one\n\nthree\nfo"
        for size in range(1, len(data) + 1):
            splitter = Splitter()
            chunks = [data[at : at + size] for at in range(0, len(data), size)]
            self.assertEqual([line for chunk in chunks for line in splitter.split(chunk)], [b"one", b"", b"three"])

    def test_no_more_than_the_limit_is_kept(self):
        splitter = Splitter()
        with self.assertRaises(BrokenLine):
            for _ in range(MAX_LINE // 1000 + 2):
                list(splitter.split(b"x" * 1000))

    def test_brackets_in_strings_and_siblings_are_no_nesting(self):
        text = b"[" * 400 + b'\\"' + b"{" * 400
        decode(b'{"jsonrpc":"2.0","method":"m","params":["' + text + b'",' + b"[1]," * 300 + b"[]]}")

    def test_inner_and_escaped_keys_are_told_from_the_messages_own(self):
        decode(b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"id":1,"method":"id","x":{"id":2}}}')
        with self.assertRaises(BrokenLine):
            decode(b'{"jsonrpc":"2.0","id":1,"\\u0069d":2,"method":"m"}')

    def test_lone_surrogate_is_escaped(self):
        self.assertEqual(dumps("\ud800ü"), b'"\\ud800\\u00fc"')
        self.assertEqual(dumps("ü"), '"ü"'.encode())


if __name__ == "__main__":
    unittest.main()
