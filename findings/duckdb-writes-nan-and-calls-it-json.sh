#!/usr/bin/env bash
# DuckDB writes a table as JSON, with `COPY … TO … (FORMAT json)` or `to_json`, and a value is not a number: a sensor without a
# reading, a NaN of NumPy.
#
# Most would guess: `null`, as polars and JavaScript write; or a string, as PostgreSQL's to_json; or an error. And json_valid, if it is asked,
#   finds out what is no JSON.
# What is so: `NaN` and `Infinity` without quotes, which RFC 8259 §6 does not permit, in a file that a strict decoder refuses whole. json_valid of
#   that text is true, as it is for a comma before a closing bracket; json_extract and read_json take it, so a check on the way out with
#   DuckDB itself is no check.
# Source: the JSON extension reads and writes with yyjson, which it tells to allow infinities, NaN and trailing commas.
# Bites: a table goes well for months, then one row makes the export unreadable for programs with strict decoders, such as JSON.parse
#   of JavaScript and Swift's JSONDecoder. Python's json module reads it.
set -euo pipefail
duckdb="2.0.1"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --disable-pip-version-check "duckdb==$duckdb"
cat >"$work/export.py" <<'PYTHON'
import json, sys
import duckdb

file = sys.argv[1]
database = duckdb.connect()
database.execute(f"copy (select 'north' as sensor, 'nan'::double as reading, 'inf'::double as peak) to '{file}' (format json)")
text = open(file).read().strip()

def refuse(word):
    raise ValueError(word)

def strictly(text):
    try:
        json.loads(text, parse_constant=refuse)
        return "reads it"
    except ValueError:
        return "refuses it"

print(text)
print("json_valid:", database.execute("select json_valid(?)", [text]).fetchone()[0], "and a strict decoder", strictly(text))
print("json_valid('[1,]'):", database.execute("select json_valid('[1,]')").fetchone()[0], "and a strict decoder", strictly("[1,]"))
PYTHON
seen="$("$work/venv/bin/python" "$work/export.py" "$work/readings.json")"
echo "DuckDB $duckdb"
echo "$seen"
[ "$seen" = '{"sensor":"north","reading":NaN,"peak":Infinity}
json_valid: True and a strict decoder refuses it
json_valid('"'[1,]'"'): True and a strict decoder refuses it' ]
