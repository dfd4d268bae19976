"""The Python of the documents, run against a service that answers. A framework that is not installed has a stand-in with
the names that the text uses, which checks what it is given: then this shows that our code runs, and not that theirs does.
"""

import asyncio
import contextlib
import importlib.util
import inspect
import io
import os
import re
import sys
import types
import unittest
from typing import Any, Dict, List, Tuple
from unittest import mock

from .service import BATCH, KEY, LINES, RESULT, Service, Step, answer, error, lines

HERE = os.path.dirname(os.path.abspath(__file__))
AGENTS = os.path.join(HERE, "..", "..", "..", "docs", "guides", "agents.md")
README = os.path.join(HERE, "..", "README.md")


def blocks(path: str) -> List[str]:
    with open(path, encoding="utf-8") as file:
        return re.findall(r"^```python\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)


class Tool:
    """A function as a tool: its description and the types of its arguments are what a model sees."""

    def __init__(self, function: Any) -> None:
        self.name = function.__name__
        self.description = inspect.getdoc(function) or ""
        self.function = function
        parameters = inspect.signature(function).parameters.values()
        assert self.description and all(it.annotation is not inspect.Parameter.empty for it in parameters)

    async def ainvoke(self, arguments: Dict[str, Any]) -> Any:
        return await self.function(**arguments)

    async def acall(self, **arguments: Any) -> Any:
        return await self.function(**arguments)

    @staticmethod
    def from_defaults(async_fn: Any) -> "Tool":
        return Tool(async_fn)


class McpServer:
    """Notes how a server of tools is reached."""

    reached: List[Tuple[str, Dict[str, str]]] = []

    def __init__(self, url: Any, headers: Any = None) -> None:
        if isinstance(url, dict):
            (server,) = url.values()
            assert server["transport"] == "http"
            url, headers = server["url"], server["headers"]
        self.reached.append((url, headers))

    async def get_tools(self) -> List[str]:
        return ["web_search"]


class McpTools:
    def __init__(self, client: McpServer) -> None:
        self.client = client

    async def to_tool_list_async(self) -> List[str]:
        return await self.client.get_tools()


STAND_INS: Dict[str, Dict[str, Any]] = {
    "langchain_core.tools": {"tool": Tool},
    "llama_index.core.tools": {"FunctionTool": Tool},
    "langchain_mcp_adapters.client": {"MultiServerMCPClient": McpServer},
    "llama_index.tools.mcp": {"BasicMCPClient": McpServer, "McpToolSpec": McpTools},
}


def is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def stand_ins() -> Dict[str, types.ModuleType]:
    modules: Dict[str, types.ModuleType] = {}
    for name, names in STAND_INS.items():
        if is_installed(name):
            continue
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            modules.setdefault(".".join(parts[:end]), types.ModuleType(".".join(parts[:end])))
        vars(modules[name]).update(names)
    return modules


def run(code: str, *steps: Step) -> Tuple[Dict[str, Any], str, Service]:
    """The names that a block leaves, and what it printed."""
    service = Service(steps)
    printed = io.StringIO()
    names: Dict[str, Any] = {"__name__": "block"}
    service.__enter__()
    environment = {"QUARRY_URL": service.url, "QUARRY_API_KEY": KEY}
    with mock.patch.dict(os.environ, environment), mock.patch.dict(sys.modules, stand_ins()):
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "block", "exec"), names)
    return names, printed.getvalue(), service


class Readme(unittest.TestCase):
    def test_runs_as_it_stands(self) -> None:
        search, stream, errors = blocks(README)
        self.assertIn("1 HTTP caching https://www.example.org/caching", run(search, answer(200, RESULT))[1])
        self.assertIn("1 upstream_timeout late\n0 ['https://www.example.org/caching']\n2", run(stream, lines(LINES))[1])
        printed = run(errors, answer(400, error("unsupported_geo", details=["us"])))[1]
        self.assertEqual(printed, "('us',)\n")
        self.assertIn("again in 90.0 seconds", run(errors, answer(429, error("rate_limited"), Retry_After="90"))[1])

    def test_lists_every_error(self) -> None:
        import quarry

        with open(README, encoding="utf-8") as file:
            text = file.read()
        for name in quarry.__all__:
            if name.endswith("Error"):
                self.assertIn(f"`{name}`", text)


@unittest.skipUnless(os.path.exists(AGENTS), "docs/guides/agents.md is not part of the package")
class Agents(unittest.TestCase):
    def block(self, name: str) -> str:
        (found,) = [it for it in blocks(AGENTS) if name in it]
        return found

    def test_langchain_has_a_tool(self) -> None:
        names, _, service = run(
            self.block("langchain_core.tools"), answer(200, RESULT), answer(402, error("quota_exceeded"))
        )
        tool = names["web_search"]
        self.assertEqual(tool.name, "web_search")
        self.assertIn("Search the web.", tool.description)
        found = asyncio.run(tool.ainvoke({"query": "http caching", "num": 3}))
        self.assertEqual(found, "HTTP caching\nhttps://www.example.org/caching\nGrüße")
        self.assertIn("num=3&source=langchain", service.requests[0].line)
        failed = asyncio.run(tool.ainvoke({"query": "a"}))
        self.assertRegex(failed, "^The search failed: quota_exceeded: ")
        service.__exit__()

    def test_llamaindex_has_a_tool(self) -> None:
        names, _, service = run(
            self.block("llama_index.core.tools"), answer(200, BATCH), answer(401, error("unauthorized"))
        )
        tool = names["search_tool"]
        found = str(asyncio.run(tool.acall(queries=["a", "b"])))
        self.assertEqual(found, "a\n- HTTP caching: https://www.example.org/caching\n\nb\nlate")
        self.assertIn(b'{"query": "b", "num": 5}', service.requests[0].body)
        self.assertRegex(str(asyncio.run(tool.acall(queries=["a"]))), "^The searches failed: unauthorized: ")
        service.__exit__()

    def test_both_reach_the_tools_of_mcp(self) -> None:
        for name in ("langchain_mcp_adapters", "llama_index.tools.mcp"):
            if is_installed(name):
                self.skipTest(f"{name} would need a server of MCP")
            names, _, service = run(self.block(name))
            environment = {"QUARRY_URL": service.url, "QUARRY_API_KEY": KEY}
            with mock.patch.dict(os.environ, environment):
                self.assertEqual(asyncio.run(names["quarry_tools"]()), ["web_search"])
            self.assertEqual(McpServer.reached[-1], (service.url + "/mcp", {"Authorization": f"Bearer {KEY}"}))
            service.__exit__()


if __name__ == "__main__":
    unittest.main()
