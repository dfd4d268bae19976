"""The build backend: setuptools in a copy of this folder, so that ``pip install ./clients/python`` leaves nothing in it."""

import contextlib
import os
import shutil
import tempfile
from typing import Iterator, Optional

from setuptools import build_meta as setuptools

_ROOT = os.path.dirname(os.path.abspath(__file__))


@contextlib.contextmanager
def _copy() -> Iterator[None]:
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as parent:
        copy = os.path.join(parent, "source")
        shutil.copytree(_ROOT, copy, ignore=shutil.ignore_patterns("build", "dist", "*.egg-info", "__pycache__", ".*"))
        os.chdir(copy)
        try:
            yield
        finally:
            os.chdir(before)


def build_wheel(
    wheel_directory: str, config_settings: Optional[dict] = None, metadata_directory: Optional[str] = None
) -> str:
    with _copy():
        return setuptools.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory: str, config_settings: Optional[dict] = None) -> str:
    with _copy():
        return setuptools.build_sdist(sdist_directory, config_settings)


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Optional[dict] = None) -> str:
    with _copy():
        return setuptools.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


#: An editable package is read from this folder, so that it is built here.
build_editable = setuptools.build_editable
get_requires_for_build_wheel = setuptools.get_requires_for_build_wheel
get_requires_for_build_sdist = setuptools.get_requires_for_build_sdist
get_requires_for_build_editable = setuptools.get_requires_for_build_editable
