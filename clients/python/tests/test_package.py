"""The package: its syntax, its types, and what its archives hold."""

import ast
import glob
import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from typing import List

import quarry

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCES = sorted(glob.glob(os.path.join(ROOT, "src", "quarry", "*.py")))


class Sources(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        # One cache for both runs of mypy, which halves their time.
        cls.cache = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.cache)

    def test_are_python_3_9(self) -> None:
        self.assertGreater(len(SOURCES), 5)
        for path in SOURCES + glob.glob(os.path.join(ROOT, "tests", "*.py")):
            with open(path, encoding="utf-8") as file:
                ast.parse(file.read(), path, feature_version=(3, 9))

    @unittest.skipUnless(sys.version_info >= (3, 10), "sys.stdlib_module_names came with Python 3.10")
    def test_import_the_standard_library_and_the_one_dependency(self) -> None:
        names = set()
        for path in SOURCES:
            with open(path, encoding="utf-8") as file:
                for it in ast.walk(ast.parse(file.read())):
                    if isinstance(it, ast.Import):
                        names.update(alias.name.partition(".")[0] for alias in it.names)
                    elif isinstance(it, ast.ImportFrom) and it.level == 0:
                        names.add(str(it.module).partition(".")[0])
        self.assertEqual(names - set(sys.stdlib_module_names), {"httpx"})
        with open(os.path.join(ROOT, "pyproject.toml"), encoding="utf-8") as file:
            self.assertRegex(file.read(), r'(?m)^dependencies = \["httpx[^"]*"\]$')

    def test_have_the_version_of_the_package(self) -> None:
        with open(os.path.join(ROOT, "pyproject.toml"), encoding="utf-8") as file:
            self.assertIn(f'\nversion = "{quarry.__version__}"\n', file.read())

    @unittest.skipUnless(shutil.which("mypy"), "no mypy on the PATH")
    def test_have_types_that_mypy_finds_nothing_wrong_with(self) -> None:
        said = subprocess.run(["mypy", "--cache-dir", self.cache], cwd=ROOT, capture_output=True, text=True)
        self.assertEqual(said.returncode, 0, said.stdout + said.stderr)

    @unittest.skipUnless(shutil.which("mypy"), "no mypy on the PATH")
    def test_show_their_types_to_programs(self) -> None:
        program = (
            "import quarry\n"
            "client = quarry.Client()\n"
            "reveal_type(client.query('a').results.organic[0].title)\n"
            "for index, row in client.stream(['a', {'query': 'b', 'num': 2}]):\n"
            "    if row.status == 'ok':\n"
            "        reveal_type(row.id)\n"
            "    else:\n"
            "        reveal_type(row.error)\n"
            "client.query('a', target='gamma')\n"
            "client.bulk([{'num': 2}])\n"
        )
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(program)
            command = ["mypy", "--strict", "--config-file=", "--python-version=3.9", "--cache-dir", self.cache, path]
            environment = {**os.environ, "MYPYPATH": os.path.join(ROOT, "src")}
            said = subprocess.run(command, env=environment, capture_output=True, text=True).stdout
        self.assertEqual(said.count('Revealed type is "builtins.str"'), 3, said)
        self.assertIn('incompatible type "Literal[\'gamma\']"', said)
        self.assertIn('expected "Union[str, RowRequest]"', said)
        self.assertIn("Found 2 errors", said)


def has_setuptools() -> bool:
    """If there is one that reads pyproject.toml."""
    try:
        return int(importlib.metadata.version("setuptools").partition(".")[0]) >= 61
    except importlib.metadata.PackageNotFoundError:
        return False


@unittest.skipUnless(has_setuptools(), "no setuptools of version 61 or later")
class Archives(unittest.TestCase):
    def build(self, what: str) -> str:
        """Builds as pip does, and holds the backend to leaving nothing beside the sources."""
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        copy = os.path.join(folder, "copy")
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build", "dist"))
        before = sorted(os.listdir(copy) + os.listdir(os.path.join(copy, "src")))
        code = f"import sys; sys.dont_write_bytecode = True; import build_in_copy as it; print(it.{what}({folder!r}))"
        said = subprocess.run([sys.executable, "-c", code], cwd=copy, capture_output=True, text=True)
        self.assertEqual(said.returncode, 0, said.stderr)
        self.assertEqual(sorted(os.listdir(copy) + os.listdir(os.path.join(copy, "src"))), before)
        return os.path.join(folder, said.stdout.strip().splitlines()[-1])

    modules: List[str] = [os.path.basename(it) for it in SOURCES]

    def test_a_wheel_has_the_modules_their_types_and_the_license(self) -> None:
        if importlib.util.find_spec("wheel") is None and importlib.util.find_spec("setuptools.command.bdist_wheel") is None:
            self.skipTest("this setuptools needs the package wheel")
        names = zipfile.ZipFile(self.build("build_wheel")).namelist()
        package = sorted(it for it in names if not it.startswith("quarry_client-"))
        self.assertEqual(package, sorted(f"quarry/{it}" for it in [*self.modules, "py.typed"]))
        self.assertTrue(any(it.endswith("LICENSE") for it in names), names)

    def test_a_source_archive_has_what_a_wheel_is_made_of(self) -> None:
        with tarfile.open(self.build("build_sdist")) as archive:
            names = [it.partition("/")[2] for it in archive.getnames()]
        for name in (*(f"src/quarry/{it}" for it in [*self.modules, "py.typed"]), "LICENSE", "README.md", "pyproject.toml", "build_in_copy.py"):
            self.assertIn(name, names)


if __name__ == "__main__":
    unittest.main()
