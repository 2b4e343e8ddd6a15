"""Builds the package (PEP 517, PEP 660) with the standard library alone, so that `pip install --no-index` works."""

import base64
import hashlib
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
NAME = PROJECT["name"].replace("-", "_")
STEM = f"{NAME}-{PROJECT['version']}"
INFO = f"{STEM}.dist-info"


def _metadata() -> str:
    return (
        f"Metadata-Version: 2.1\nName: {PROJECT['name']}\nVersion: {PROJECT['version']}\n"
        f"Summary: {PROJECT['description']}\nLicense: {PROJECT['license']['text']}\n"
        f"Requires-Python: {PROJECT['requires-python']}\n"
        f"Description-Content-Type: text/markdown\n\n{(ROOT / PROJECT['readme']).read_text('utf-8')}"
    )


def _wheel(folder: str, files: dict[str, bytes]) -> str:
    name = f"{STEM}-py3-none-any.whl"
    files = {
        **files,
        f"{INFO}/METADATA": _metadata().encode(),
        f"{INFO}/WHEEL": b"Wheel-Version: 1.0\nGenerator: tributary-client\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    with zipfile.ZipFile(Path(folder) / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record += f"{path},sha256={digest},{len(data)}\n"
            archive.writestr(path, data)
        archive.writestr(f"{INFO}/RECORD", f"{record}{INFO}/RECORD,,\n")
    return name


def _sources() -> dict[str, bytes]:
    paths = sorted((ROOT / "src").rglob("*"))
    return {
        path.relative_to(ROOT / "src").as_posix(): path.read_bytes()
        for path in paths
        if path.suffix == ".py" or path.name == "py.typed"
    }


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    return _wheel(wheel_directory, _sources())


def build_editable(wheel_directory: str, config_settings: Any = None, metadata_directory: Any = None) -> str:
    return _wheel(wheel_directory, {f"{NAME}.pth": f"{ROOT / 'src'}\n".encode()})


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    name = f"{STEM}.tar.gz"
    with tarfile.open(Path(sdist_directory) / name, "w:gz") as archive:
        for path in ["pyproject.toml", "README.md", "backend.py"]:
            archive.add(ROOT / path, f"{STEM}/{path}")
        for path in _sources():
            archive.add(ROOT / "src" / path, f"{STEM}/src/{path}")
    return name
