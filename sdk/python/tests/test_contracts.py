"""What is generated is not stale, and the methods are those of the contracts."""

import sys

import stadium
from conftest import SDK
from stadium import _routes
from stadium.v1 import push_pb2, queue_pb2, wallet_pb2

sys.path.insert(0, str(SDK))

import generate  # noqa: E402


def test_the_generated_files_are_not_stale():
    assert generate.stale() == []


def test_every_method_of_the_contracts_is_there_as_it_is_declared():
    found = {method.route: method for method in vars(_routes).values() if isinstance(method, stadium.Method)}
    wanted = set()
    for contract in (queue_pb2, wallet_pb2, push_pb2):
        for service in contract.DESCRIPTOR.services_by_name.values():
            for method in service.methods:
                route = f"{service.name.lower()}/{method.name}"
                wanted.add(route)
                ours = found[route]
                assert ours.request.DESCRIPTOR.full_name == method.input_type.full_name, route
                assert ours.answer.DESCRIPTOR.full_name == method.output_type.full_name, route
                is_stream = method.server_streaming
                assert ours.interaction == (2 if is_stream else 0), route
                assert ours.idempotent == (method.GetOptions().idempotency_level != 0 and not is_stream), route
    assert wanted == set(found)
