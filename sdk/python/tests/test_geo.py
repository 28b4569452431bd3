"""The example geo in Python, crossed with the one in Rust: each client with each service."""

import os
import stat
import subprocess
import sys

from conftest import ROOT

EXAMPLE = ROOT / "examples/geo"


def test_the_programs_of_python_and_rust_work_with_each_other(tmp_path):
    plugin = os.environ.get("STADIUM_PROTOC_GEN", ROOT / "target/debug/protoc-gen-stadium")
    subprocess.run(
        ["protoc", f"-I{EXAMPLE / 'proto'}", f"--plugin={plugin}", f"--python_out={tmp_path}",
         f"--stadium_out=python:{tmp_path}", "geo.proto"],
        check=True,
    )  # fmt: skip
    path = f"{tmp_path}:{EXAMPLE / 'python'}:{os.environ.get('PYTHONPATH', '')}"
    for name in ("geo-service", "geo-client"):
        program = tmp_path / name
        script = EXAMPLE / "python" / f"{name.replace('-', '_')}.py"
        program.write_text(f'#!/bin/sh\nPYTHONPATH="{path}" exec "{sys.executable}" "{script}" "$@"\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    rust = ROOT / "target/debug"
    crossed = subprocess.run(
        [sys.executable, EXAMPLE / "crosses.py", tmp_path, rust], capture_output=True, text=True, timeout=180
    )
    assert crossed.returncode == 0, crossed.stdout + crossed.stderr
    assert crossed.stdout.count("all held") == 4
