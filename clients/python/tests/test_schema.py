"""The models beside ``openapi.json``: every field of what the client reads is there, with its type."""

import collections.abc
import dataclasses
import json
import os
import unittest
from typing import Any, Dict, Literal, Set, Tuple, Union, get_args, get_origin, get_type_hints

from quarry import errors, models
from quarry._decode import optional_fields, wire_fields

_TYPES = {str: "string", int: "integer", bool: "boolean"}

DOCUMENT = os.path.join(os.path.dirname(__file__), "..", "..", "..", "openapi.json")


@unittest.skipUnless(os.path.exists(DOCUMENT), "openapi.json is not part of the package")
class Schemas(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        with open(DOCUMENT, encoding="utf-8") as file:
            cls.document: Dict[str, Any] = json.load(file)

    def schema(self, name: str) -> Any:
        return self.document["components"]["schemas"][name]

    def resolved(self, schema: Any) -> Any:
        return self.schema(schema["$ref"].rpartition("/")[2]) if "$ref" in schema else schema

    def assert_type(self, hint: Any, schema: Any, where: str) -> None:
        schema = self.resolved(schema)
        origin = get_origin(hint)
        if origin is Union:
            if "anyOf" not in schema:
                # A field that may be left out, and is None then.
                return self.assert_type(next(it for it in get_args(hint) if it is not type(None)), schema, where)
            options = [self.resolved(it) for it in schema["anyOf"]]
            self.assertEqual(len(options), len(get_args(hint)), where)
            for part in get_args(hint):
                if part is type(None):
                    self.assertIn({"type": "null"}, options, where)
                elif part is str:
                    self.assertIn({"type": "string"}, options, where)
                else:
                    names = set(wire_fields(part))
                    self.assert_fields(part, next(it for it in options if set(it.get("properties", ())) == names), where)
        elif origin in (tuple, collections.abc.Sequence):
            self.assertEqual(schema["type"], "array", where)
            self.assert_type(get_args(hint)[0], schema["items"], where)
        elif origin is Literal:
            self.assertEqual(sorted(get_args(hint)), sorted(schema["enum"]), where)
        elif hint in _TYPES:
            self.assertEqual(schema["type"], _TYPES[hint], where)
        else:
            self.assert_fields(hint, schema, where)

    def assert_fields(self, of: Any, schema: Any, where: str) -> None:
        fields = wire_fields(of)
        self.assertEqual(sorted(fields), sorted(schema["properties"]), where)
        optional = optional_fields(of)
        self.assertEqual(sorted(set(fields) - optional), sorted(schema["required"]), where)
        for name, hint in fields.items():
            # A field that may be absent is not null on the wire.
            shown = get_args(hint)[0] if name in optional else hint
            self.assert_type(shown, schema["properties"][name], f"{where}.{name}")

    def test_of_answers_are_the_models(self) -> None:
        for of in (models.SearchResult, models.OrganicResult, models.BulkResult, models.Account, models.Issue):
            self.assert_fields(of, self.schema(of.__name__), of.__name__)
        for row in (models.ServedRow, models.ErrorRow):
            self.assert_fields(row, self.schema(row.__name__), row.__name__)

    def test_of_pages_are_the_models(self) -> None:
        for of in (models.PageResult, models.PageLink, models.PagesResult, models.ReadRow, models.UnreadRow):
            self.assert_fields(of, self.schema(of.__name__), of.__name__)

    def test_of_lines_are_the_models_of_a_stream(self) -> None:
        streams = (
            ("BulkLine", models.ServedRow, models.ErrorRow),
            ("PagesLine", models.ReadRow, models.UnreadRow),
        )
        for name, served, failed in streams:
            of_type: Dict[Tuple[str, str], Any] = {}
            for it in self.schema(name)["anyOf"]:
                properties = it["properties"]
                of_type[properties["type"]["enum"][0], properties.get("status", {"enum": [""]})["enum"][0]] = it
            self.assert_fields(models.BatchStart, of_type.pop(("batch", "")), "batch")
            self.assert_fields(models.BatchSummary, of_type.pop(("summary", "")), "summary")
            for status, row in (("ok", served), ("error", failed)):
                line = of_type.pop(("row", status))
                self.assertEqual({*wire_fields(row), "type", "index"}, set(line["properties"]))
            self.assertEqual(of_type, {})

    def test_of_requests_for_pages_are_the_arguments(self) -> None:
        hints = get_type_hints(models.PageRequest)
        row = self.schema("PageRow")
        self.assertEqual(set(hints), set(row["properties"]))
        self.assertEqual(set(models.PageRequest.__required_keys__), set(row["required"]))
        for name, hint in hints.items():
            self.assert_type(hint, row["properties"][name], name)
        from quarry import AsyncClient, Client

        for client in (Client, AsyncClient):
            own = {"self", "idempotency_key", "timeout", "return"}
            names = {it["name"] for it in self.document["paths"]["/v1/page"]["get"]["parameters"] if it["in"] == "query"}
            self.assertEqual(set(get_type_hints(client.page)) - own, names)
            for method in (client.pages, client.pages_stream):
                self.assertEqual(set(get_type_hints(method)) - own, set(self.schema("PagesRequest")["properties"]))

    def test_of_requests_are_the_arguments(self) -> None:
        hints = get_type_hints(models.RowRequest)
        row = self.schema("BulkRow")
        self.assertEqual(set(hints), set(row["properties"]))
        self.assertEqual(set(models.RowRequest.__required_keys__), set(row["required"]))
        for name, hint in hints.items():
            schema = row["properties"][name]
            if name == "geo":
                self.assertEqual((hint, schema["type"]), (str, "string"))
            else:
                self.assert_type(hint, schema, name)
        from quarry import AsyncClient, Client

        for client in (Client, AsyncClient):
            own = {"self", "idempotency_key", "timeout", "return"}
            query = self.document["paths"]["/v1/query"]["get"]["parameters"]
            names = {it["name"] for it in query if it["in"] == "query"}
            self.assertEqual(set(get_type_hints(client.query)) - own, names)
            for method in (client.bulk, client.stream):
                self.assertEqual(set(get_type_hints(method)) - own, set(self.schema("BulkRequest")["properties"]))

    def test_of_errors_are_the_classes(self) -> None:
        codes: Set[str] = set()
        operations = (
            *(("/v1/query", "get"), ("/v1/bulk", "post"), ("/v1/me", "get")),
            *(("/v1/page", "get"), ("/v1/pages", "post")),
        )
        for path, method in operations:
            for response in self.document["paths"][path][method]["responses"].values():
                for media in response["content"].values():
                    for it in media["schema"].get("anyOf", [media["schema"]]):
                        properties = self.resolved(it).get("properties", {})
                        if "request_id" in properties:
                            codes.update(properties["error"]["enum"])
        self.assertEqual(codes, set(errors.BY_CODE) - {"not_found"})
        common = {"error", "message", "request_id"}
        quota = set(self.schema("QuotaExceeded")["properties"]) - common
        self.assertLessEqual(quota, set(vars(errors.QuotaExceededError(""))))
        unreadable = self.schema("PageUnreadable")["properties"]
        self.assertEqual(set(unreadable) - common, {"reason", "http_status"})
        self.assertEqual(sorted(get_args(models.UnreadableReason)), sorted(unreadable["reason"]["enum"]))
        self.assertEqual(set(self.schema("UnsupportedGeo")["properties"]) - common, {"details"})
        self.assertEqual(set(self.schema("InvalidRequest")["properties"]) - common, {"issues"})

    def test_of_headers_are_read(self) -> None:
        sent = {name.lower() for name in self.document["components"]["headers"]}
        for name in (
            *(f"x-ratelimit-{it}" for it in ("limit", "remaining", "reset")),
            *(f"x-quota-{it}" for it in ("limit", "used", "remaining", "reset")),
            *("x-credits-used", "x-credits-balance", "x-request-id", "idempotent-replayed", "retry-after"),
        ):
            self.assertIn(name, sent)


if __name__ == "__main__":
    unittest.main()
