"""Tests of Tests/Checks/API/check on small symbol graphs."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import pathlib
import tempfile
import unittest

FILE = pathlib.Path(__file__).with_name("check")
loader = importlib.machinery.SourceFileLoader("api_check", str(FILE))
check = importlib.util.module_from_spec(importlib.util.spec_from_loader("api_check", loader))
loader.exec_module(check)


def symbol(path, text, kind="swift.method"):
    return {
        "identifier": {"precise": path}, "pathComponents": path.split("."), "kind": {"identifier": kind},
        "declarationFragments": [{"spelling": text}],
        "location": {"uri": "file:///anywhere.swift"}, "docComment": {"lines": [{"text": "prose"}]},
    }


def graph(symbols, relationships=()):
    return {"symbols": symbols, "relationships": list(relationships)}


STORE = symbol("Store", "protocol Store", "swift.protocol")
LOAD = symbol("Store.load()", "func load()")
OPEN = symbol("Choice", "@nonexhaustive enum Choice", "swift.enum")
CLOSED = symbol("Choice", "enum Choice", "swift.enum")
CASE = symbol("Choice.one", "case one", "swift.enum.case")


def member(source, target, kind="memberOf"):
    return {"kind": kind, "source": source, "target": target}


class Lines(unittest.TestCase):
    def test_have_neither_files_nor_prose(self):
        text = "\n".join(check.lines_of(graph([LOAD])))
        self.assertEqual(text, "Store.load(): func load()")

    def test_have_conformances_but_not_the_implied_ones(self):
        conformances = [
            {"kind": "conformsTo", "source": "Choice", "target": "x", "targetFallback": f"Swift.{name}"}
            for name in ["Sendable", "Copyable", "Hashable"]
        ]
        self.assertEqual(
            list(check.lines_of(graph([OPEN], conformances))),
            ["Choice: @nonexhaustive enum Choice ≈ Swift.Hashable, Swift.Sendable"])

    def test_mark_what_is_breaking_to_add(self):
        required = graph([STORE, LOAD], [member("Store.load()", "Store", "requirementOf")])
        self.assertIn("Store.load(): func load() [required]", list(check.lines_of(required)))
        default = member("default", "Store.load()", "defaultImplementationOf")
        with_default = graph([STORE, LOAD], required["relationships"] + [default])
        self.assertIn("Store.load(): func load()", list(check.lines_of(with_default)))
        self.assertIn(
            "Choice.one: case one [exhaustive]",
            list(check.lines_of(graph([CLOSED, CASE], [member("Choice.one", "Choice")]))))
        self.assertIn(
            "Choice.one: case one", list(check.lines_of(graph([OPEN, CASE], [member("Choice.one", "Choice")]))))


class Comparison(unittest.TestCase):
    def assert_breaks(self, old, new, expected, text):
        changes = check.Changes(old, new)
        self.assertEqual(changes.is_breaking, expected)
        self.assertIn(text, "\n".join(changes.report("M")))

    def test_a_removed_symbol_breaks(self):
        self.assert_breaks(["A: struct A", "B: struct B"], ["A: struct A"], True, "removed, which breaks programs: B")

    def test_a_changed_declaration_breaks(self):
        self.assert_breaks(["A.f(): func f()"], ["A.f(): func f() async"], True, "now: A.f(): func f() async")

    def test_an_overload_that_is_added_breaks_nothing(self):
        self.assert_breaks(["A.f(_:): func f(_ a: Int)"], ["A.f(_:): func f(_ a: Int)", "A.g(): func g()"], False, "added")

    def test_a_requirement_and_a_case_that_are_added_break(self):
        s, e = "S: protocol S", "E: enum E"
        self.assert_breaks([s], [s, "S.f(): func f() [required]"], True, "no default implementation")
        self.assert_breaks([e], [e, "E.one: case one [exhaustive]"], True, "switch over the enum")

    def test_a_new_protocol_and_a_new_enum_break_nothing(self):
        self.assert_breaks([], ["S: protocol S", "S.f(): func f() [required]"], False, "added: S.f()")
        self.assert_breaks([], ["E: enum E", "E.one: case one [exhaustive]"], False, "added: E.one")

    def test_nothing_changed(self):
        self.assertTrue(check.Changes(["A: struct A"], ["A: struct A"]).is_empty)


class Command(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        root = pathlib.Path(self.folder.name)
        self.symbols = root / "symbols"
        check.TEXTS = root / "API"
        (self.symbols / "M").mkdir(parents=True)
        self.write([STORE, LOAD])

    def tearDown(self):
        self.folder.cleanup()

    def write(self, symbols):
        (self.symbols / "M/M.symbols.json").write_text(json.dumps(graph(symbols)), encoding="utf-8")

    def run_check(self, *arguments):
        output = io.StringIO()
        import sys
        before, sys.argv = sys.argv, ["check", "--symbols", str(self.symbols), *arguments]
        try:
            with contextlib.redirect_stdout(output):
                check.main()
            return None, output.getvalue()
        except SystemExit as exit:
            return exit.code, output.getvalue()
        finally:
            sys.argv = before

    def test_fails_on_a_removed_symbol_and_passes_when_renewed(self):
        self.assertIsNone(self.run_check("--renew")[0])
        self.assertIsNone(self.run_check()[0])
        self.write([STORE])
        error, output = self.run_check()
        self.assertIn("make api", error)
        self.assertIn("M: removed, which breaks programs: Store.load(): func load()", output)
        self.run_check("--renew")
        self.assertIsNone(self.run_check()[0])

    def test_says_what_is_missing(self):
        (self.symbols / "M/M.symbols.json").unlink()
        self.assertIn("make doc", self.run_check()[0])


if __name__ == "__main__":
    unittest.main()
