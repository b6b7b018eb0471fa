#!/usr/bin/env bash
# jq for Python (`pip install jq`) with records whose ids are over 2^53, as snowflakes are, and which differ by one.
#
# Most would guess: the ids stay. jq keeps a number that a filter does not compute with since 1.7, the package contains 1.8.2, Python's int
#   has no limit, and `text()` is the text of jq. Or, as in jq 1.6, both ids are one, and then `unique` leaves one.
# What is so: the filter runs with exact ids, and the result is rounded on its way out, by text() as well: `unique` leaves two, which are printed
#   as the same id, and `.[0] == .[1]` is false. `1.10` and `1e1000` change too. The filters `tostring` and `tojson` give what was there.
# Source: the package turns each result into Python's objects with jv_number_value, a double, and text() prints these with json.dumps;
#   RFC 8259 §6 has the limits of a double as what a sender can rely on, and no more.
# Bites: programs that take ids out of answers and ask for them again: they get another record, or a 404. `tostring` in the filter helps.
set -euo pipefail
jq="1.13.0"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check "jq==$jq"
cat >"$work/ids.py" <<'PYTHON'
import jq

text = '[{"id": 9007199254740993, "price": 1.10}, {"id": 9007199254740992, "price": 1e1000}]'
for program in (".[0].id == .[1].id", "map(.id) | unique", "map(.id | tostring) | unique", "map(.price)", "map(.price | tojson)"):
    print(f"{program}: {jq.compile(program).input_text(text).text()}")
print("first() of .[0].id:", jq.compile(".[0].id").input_text(text).first())
PYTHON
seen="$("$work/venv/bin/python" "$work/ids.py")"
echo "jq for Python $jq"
echo "$seen"
[ "$seen" = '.[0].id == .[1].id: false
map(.id) | unique: [9007199254740992, 9007199254740992]
map(.id | tostring) | unique: ["9007199254740992", "9007199254740993"]
map(.price): [1.1, 1.7976931348623157e+308]
map(.price | tojson): ["1.10", "1E+1000"]
first() of .[0].id: 9007199254740992' ]
