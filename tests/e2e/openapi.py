"""Holds answers of a daemon against docs/openapi.yaml: openapi.py FILE OBSERVATIONS.

An observation is an exchange: method, path (without the query), status, type, request and response (JSON or null). Each
has to be described: its path and method, its status, its type, and every member of its bodies. A line for each fault.
"""
import json
import re
import sys

import jsonschema
import yaml


def load(name):
    with open(name, encoding="utf-8") as file:
        return yaml.safe_load(file)


def close(schema):
    """No object may have members that are not described."""
    if isinstance(schema, dict):
        for value in schema.values():
            close(value)
        if "properties" in schema and "additionalProperties" not in schema:
            schema["additionalProperties"] = False
    elif isinstance(schema, list):
        for value in schema:
            close(value)


class Description:
    def __init__(self, document):
        self.document = document
        self.resolver = jsonschema.RefResolver("", document)
        self.patterns = [(path, re.compile("^" + re.sub(r"\\\{(\w+)\\\}", self.one, re.escape(path)) + "$"))
                         for path in document["paths"]]

    @staticmethod
    def one(match):
        return ".+" if match.group(1) == "path" else "[^/]+"

    def follow(self, thing):
        while "$ref" in thing:
            thing = self.resolver.resolve(thing["$ref"])[1]
        return thing

    def operation(self, path, method):
        for name, pattern in self.patterns:
            if pattern.match(path):
                item = self.document["paths"][name]
                return name, item.get(method.lower()) or (item.get("get") if method == "HEAD" else None)
        return None, None

    def faults_of_body(self, content, kind, body):
        name = kind.split(";")[0]
        if name not in content:
            return ["the type %s is not described" % name]
        if not name.endswith("json"):
            return []
        validator = jsonschema.Draft202012Validator(content[name]["schema"], resolver=self.resolver)
        return ["%s: %s" % ("/".join(str(part) for part in fault.absolute_path), fault.message[:400])
                for fault in validator.iter_errors(body)]

    def faults(self, seen):
        name, operation = self.operation(seen["path"], seen["method"])
        if operation is None:
            return ["it is not described"]
        responses = operation["responses"]
        response = responses.get(str(seen["status"])) or (seen["status"] >= 400 and responses.get("default"))
        if not response:
            return ["%s: the status %d is not described" % (name, seen["status"])]
        found = []
        response = self.follow(response)
        if seen["status"] != 304 and seen["method"] != "HEAD":
            found += self.faults_of_body(response.get("content", {}), seen["type"] or "", seen["response"])
        if seen["request"] is not None and seen["status"] < 400:
            asked = self.follow(operation.get("requestBody", {})).get("content", {})
            found += ["the request: " + fault for fault in self.faults_of_body(asked, "application/json",
                                                                               seen["request"])]
        return found


def main():
    document = load(sys.argv[1])
    close(document["components"]["schemas"])
    close(document["paths"])
    close(document["components"]["responses"])
    described = Description(document)
    with open(sys.argv[2], encoding="utf-8") as file:
        observations = json.load(file)
    for seen in observations:
        for fault in described.faults(seen):
            print("%s %s -> %d: %s" % (seen["method"], seen["path"], seen["status"], fault))


def list_operations():
    for path, item in load(sys.argv[1])["paths"].items():
        for method in ("get", "post", "put", "delete"):
            if method in item:
                print(method.upper(), path)


if __name__ == "__main__":
    list_operations() if len(sys.argv) == 2 else main()
