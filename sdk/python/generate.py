"""Writes what the package has that is made of other files; `--check` compares instead.

- `stadium/v1/*_pb2.py` and `.pyi`: messages, by `protoc` of `proto/stadium/v1`. The output of another
  version differs, so its version is pinned. Its modules work with protobuf 4.21 to 7.
- `stadium/queue.py`, `wallet.py`, `push.py`, `audiences.py`: the blocking forms of `stadium/aio/*.py`,
  which differ in nothing but `async` and `await`.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

SDK = pathlib.Path(__file__).resolve().parent
PROTO = SDK.parents[1] / "proto"
PROTOC = "libprotoc 3.21.12"
CONTRACTS = ("push", "queue", "stadium", "wallet")
BLOCKING = ("audiences", "push", "queue", "wallet")

#: In the order in which they are applied.
REPLACED = (
    (r"\basync (def|for|with)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\bAsyncIterator\b", "Iterator"),
    (r"^from \._client import", "from ._blocking import"),
    (r"^from \.\.(\w)", r"from .\1"),
    (r"^from \.\. import", "from . import"),
    (r"stadium\.aio\.", "stadium."),
)


def blocking(name: str) -> str:
    """The blocking form of a module."""
    text = (SDK / "stadium/aio" / f"{name}.py").read_text()
    for pattern, with_this in REPLACED:
        text = re.sub(pattern, with_this, text, flags=re.MULTILINE)
    lines = text.splitlines(keepends=True)
    imports = sorted(line for line in lines if line.startswith("from typing import"))
    names = sorted(imports[0].strip().split(" import ")[1].split(", "))
    text = text.replace(imports[0], f"from typing import {', '.join(names)}\n")
    return f"# Made of stadium/aio/{name}.py by generate.py: change that file.\n{text}"


def messages(folder: str) -> None:
    """The modules of the messages."""
    version = subprocess.run(["protoc", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if version != PROTOC:
        sys.exit(f"protoc is {version}; {PROTOC} is needed (Debian 12: protobuf-compiler)")
    files = [f"stadium/v1/{name}.proto" for name in CONTRACTS]
    command = ["protoc", f"-I{PROTO}", f"--python_out={folder}", f"--pyi_out={folder}", *files]
    subprocess.run(command, check=True)


def strict(stub: str) -> str:
    """A stub of this protoc as `mypy --strict` wants it."""
    stub = stub.replace("__slots__ = []", "...").replace("_Mapping]", "_Mapping[str, _Any]]")
    stub = stub.replace(": bool = ...", ": _Optional[bool] = ...")
    return re.sub(r"^(from typing import )", r"\1Any as _Any, ", stub, flags=re.MULTILINE)


def generated() -> "dict[str, str]":
    """All files, by their place in the package's folder."""
    files = {f"stadium/{name}.py": blocking(name) for name in BLOCKING}
    with tempfile.TemporaryDirectory() as folder:
        messages(folder)
        for path in sorted(pathlib.Path(folder).glob("stadium/v1/*")):
            text = path.read_text()
            files[f"stadium/v1/{path.name}"] = strict(text) if path.suffix == ".pyi" else text
    return files


def stale() -> "list[str]":
    """The files that are not as they would be made."""
    files = generated()
    return [name for name, text in files.items() if not (SDK / name).is_file() or (SDK / name).read_text() != text]


if __name__ == "__main__":
    if "--check" in sys.argv:
        left = stale()
        sys.exit(f"stale: {', '.join(left)}; run sdk/python/generate.py" if left else 0)
    for name, text in generated().items():
        (SDK / name).write_text(text)
