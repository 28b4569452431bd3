"""The wheel: built and installed by the commands of the README, then tested as the module of cargo is.

`cargo xtask test --long` runs it: a release build takes minutes.
"""

import os
import pathlib
import re
import subprocess
import venv

SDK = pathlib.Path(__file__).resolve().parents[1]
ROOT = SDK.parents[1]


def test_the_wheel_of_the_readme_passes_the_tests(tmp_path):
    commands = re.search(r"```sh\n(.*?)```", (SDK / "README.md").read_text(), re.DOTALL)
    assert commands is not None
    venv.create(tmp_path, with_pip=True)
    environment = dict(os.environ, PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    subprocess.run(["bash", "-euc", commands.group(1)], cwd=ROOT, env=environment, check=True)

    # What the tests themselves need, in the versions of the other suites.
    wanted = ("aiomqtt==", "mypy==", "opentelemetry-sdk==", "protobuf==", "pytest==", "types-protobuf==")
    listed = (ROOT / "testing/python/requirements.txt").read_text().splitlines()
    packages = [line for line in listed if line.startswith(wanted)]
    assert len(packages) == len(wanted), packages
    subprocess.run(["pip", "install", "--quiet", *packages], env=environment, check=True)
    tests = ["python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "."]
    installed = dict(environment, STADIUM_WHEEL="1")
    subprocess.run(tests, cwd=SDK / "tests", env=installed, check=True)
