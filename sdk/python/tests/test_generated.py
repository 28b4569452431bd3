"""Code that protoc-gen-stadium generates: it is typed, it runs, and its descriptors are whole.

The contracts are that of examples/geo, and those of the generator's own tests, which have everything that is hard to
write in a language.
"""

import asyncio
import importlib
import os
import pathlib
import subprocess
import sys

import pytest

import stadium
from conftest import ROOT, SOON
from test_types import cache, mypy  # noqa: F401
from words import WIDE

PLUGIN = pathlib.Path(os.environ.get("STADIUM_PROTOC_GEN", ROOT / "target/debug/protoc-gen-stadium"))
HARD = ROOT / "crates/protoc-gen-stadium/tests/proto"
DESK = "desk/v1beta1/order-desk.proto"
CONTRACTS = ["geo.proto", DESK, "plain.proto", "desk/parts/parts.proto", "other/parts.proto", "import/lambda.proto"]


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """A folder with the messages and methods of the contracts, from which modules can be imported."""
    assert PLUGIN.exists(), f"cargo build -p protoc-gen-stadium makes {PLUGIN}"
    folder = tmp_path_factory.mktemp("generated")
    includes = [f"-I{path}" for path in (HARD, ROOT / "examples/geo/proto", ROOT / "proto")]
    outputs = [f"--{name}_out={folder}" for name in ("python", "pyi")] + [f"--stadium_out=python:{folder}"]
    command = ["protoc", f"--plugin={PLUGIN}", *includes, *outputs, *CONTRACTS]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    yield folder
    sys.path.remove(str(folder))


USE = """
import stadium
from desk.v1beta1 import order_desk_pb2
from desk.v1beta1.order_desk_stadium import OrderDesk
from geo_pb2 import Circle, Device, GeoEvent, StorageResponse
from geo_stadium import Geo

def call(client: stadium.Client) -> StorageResponse:
    return client.call(Geo.STORE, GeoEvent(device_id="phone-1"))

def near(client: stadium.Client) -> "list[GeoEvent]":
    return list(client.stream(Geo.NEAR, Circle()))

def ring(client: stadium.Client) -> None:
    client.one_way(OrderDesk.RING, order_desk_pb2.Order())

SERVICE = stadium.Service(Geo.NAME, Geo.VERSION, descriptors=Geo.FILE_DESCRIPTOR_SET)

@SERVICE.on(Geo.LAST)
def last(request: Device, call: stadium.Call) -> GeoEvent:
    return GeoEvent(device_id=request.device_id)
"""

WRONG = """
import stadium
from geo_pb2 import Circle, Device, GeoEvent
from geo_stadium import Geo

def call(client: stadium.Client) -> GeoEvent:
    return client.call(Geo.STORE, GeoEvent())  # 7: another answer

def near(client: stadium.Client) -> None:
    client.stream(Geo.NEAR, Device())  # 10: another request

Geo.STORE = Geo.LAST  # 12: a constant
"""


def errors(cache, folder, *files):
    """The errors of files, without those in stubs of messages: they are protoc's, and some of its versions have some."""
    checked = mypy(cache, folder, "--explicit-package-bases", *(str(folder / file) for file in files))
    assert checked.returncode in (0, 1), checked.stdout + checked.stderr
    return [line for line in checked.stdout.splitlines() if ": error:" in line and "_pb2.pyi:" not in line]


def test_it_is_typed(cache, generated):
    (generated / "use.py").write_text(USE)
    (generated / "wrong.py").write_text(WRONG)
    modules = ["geo_stadium.py", "desk/v1beta1/order_desk_stadium.py", "plain_stadium.py"]
    found = errors(cache, generated, *modules, "use.py", "wrong.py")
    wrong = {int(line.split(":")[1]) for line in found if "wrong.py:" in line}
    assert wrong == {7, 10, 12}, found
    assert all("wrong.py:" in line for line in found), found


def test_constants_have_the_routes_and_messages_of_the_contract(generated):
    from google.protobuf.empty_pb2 import Empty

    desk = importlib.import_module("desk.v1beta1.order_desk_stadium")
    messages = importlib.import_module("desk.v1beta1.order_desk_pb2")
    methods = desk.OrderDesk
    assert (methods.NAME, methods.VERSION) == ("order_desk", "1beta1")
    assert (methods.DELETE.route, methods.DELETE.answer) == ("order_desk/Delete", messages.Order.Line.Amount)
    assert (methods.NAME_.route, methods.NAME_.idempotent) == ("order_desk/Name", True)
    assert (methods.SERVED_AT.request, methods.SERVED_AT.idempotent) == (Empty, True)
    assert not methods.DELETE.idempotent
    parts = importlib.import_module("desk.parts.parts_pb2"), importlib.import_module("other.parts_pb2")
    assert (methods.ERRNO.request, methods.ERRNO.answer) == (parts[0].Amount, parts[1].Amount)
    interactions = [method.interaction for method in (methods.DELETE, methods.RING, methods.WATCH, methods.TALK)]
    assert interactions == [0, 1, 2, 3]
    assert methods.HTTP_COUNT2.interaction == 3, "many requests are a channel"
    keywords = importlib.import_module("import.lambda_stadium")
    assert keywords.Lambda.RUN.answer.DESCRIPTOR.full_name == "lambda.None.and"


def test_comments_are_docstrings(generated):
    desk = importlib.import_module("desk.v1beta1.order_desk_stadium")
    words = desk.OrderDesk.__doc__
    assert words.startswith("Takes orders. This */ ends no comment, \"\"\" nor ''' does, and \\u002a/ is /* text.")
    assert words.rstrip().endswith("Methods of the service `order_desk`, version 1beta1.")


def test_descriptors_are_whole(generated):
    from google.protobuf.descriptor_pb2 import FileDescriptorSet
    from google.protobuf.descriptor_pool import DescriptorPool

    desk = importlib.import_module("desk.v1beta1.order_desk_stadium")
    files = FileDescriptorSet.FromString(desk.OrderDesk.FILE_DESCRIPTOR_SET).file
    pool = DescriptorPool()
    for file in files:
        # Fails where an import is not there.
        pool.Add(file)
    service = pool.FindServiceByName("desk.v1beta1.OrderDesk")
    assert service.methods_by_name["ServedAt"].output_type.full_name == "google.protobuf.Timestamp"
    assert not any(file.HasField("source_code_info") for file in files)


def test_a_service_and_a_client_use_the_same_constants(generated):
    messages = importlib.import_module("geo_pb2")
    methods = importlib.import_module("geo_stadium").Geo
    service = stadium.Service(methods.NAME, methods.VERSION, descriptors=methods.FILE_DESCRIPTOR_SET)

    @service.on(methods.STORE)
    async def store(event, call):
        return messages.StorageResponse(message=event.device_id)

    @service.on(methods.NEAR)
    async def near(circle, call):
        for place in range(3):
            yield messages.GeoEvent(latitude=circle.latitude + place)

    async def run():
        async with stadium.Server(service, listen="127.0.0.1:0", admission=WIDE) as server:
            async with stadium.aio.Client(*server.addresses, attempts=1) as client:
                answer = await client.call(methods.STORE, messages.GeoEvent(device_id="phone-1"))
                found = [event.latitude async for event in client.stream(methods.NEAR, messages.Circle(latitude=30))]
                return answer.message, found

    assert asyncio.run(asyncio.wait_for(run(), SOON)) == ("phone-1", [30, 31, 32])


def test_the_module_of_method_options_is_that_of_the_contract(tmp_path):
    from google.protobuf.descriptor_pb2 import FileDescriptorSet

    from stadium.rpc.v1 import options_pb2

    out = tmp_path / "set"
    subprocess.run(
        ["protoc", f"-I{ROOT / 'proto'}", f"--descriptor_set_out={out}", "stadium/rpc/v1/options.proto"], check=True
    )
    (file,) = FileDescriptorSet.FromString(out.read_bytes()).file
    shipped = type(file).FromString(options_pb2.DESCRIPTOR.serialized_pb)
    for one in (file, shipped):
        for extension in one.extension:
            # protoc writes it into one of them only.
            extension.ClearField("json_name")
    assert file == shipped
