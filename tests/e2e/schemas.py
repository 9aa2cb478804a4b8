"""Holds what headgate prints with --json against docs/schemas: schemas.py DIRECTORY OBSERVATIONS.

An observation is a pair: the name of a schema, and what was printed. A line for each fault: what does not fit, a member
that is not described, a schema that nothing was held against.
"""
import json
import pathlib
import sys

import jsonschema

from openapi import close


def main():
    files = pathlib.Path(sys.argv[1]).glob("*.json")
    schemas = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in files}
    with open(sys.argv[2], encoding="utf-8") as file:
        observations = json.load(file)
    for schema in schemas.values():
        jsonschema.Draft202012Validator.check_schema(schema)
        close(schema)
    for name, printed in observations:
        if name not in schemas:
            print("%s has no schema" % name)
            continue
        for fault in jsonschema.Draft202012Validator(schemas[name]).iter_errors(printed):
            where = "/".join(str(part) for part in fault.absolute_path)
            print("%s: %s: %s" % (name, where, fault.message[:400]))
    for name in sorted(set(schemas) - {name for name, _ in observations}):
        print("nothing was held against the schema of %s" % name)


main()
