"""Hooks of schemathesis, see test_openapi.py: where a request that it makes is asked a little differently.

A reserve may wait for a minute: the suite asks for waits of milliseconds. JSON Schema counts 7.0 as a whole number, and the API takes whole
numbers without a fraction only, as its description states: requests that are to be taken are written so. And a body that may be left out is no mistake
where it is: schemathesis makes it one when it takes a random one away.
"""

import schemathesis
from schemathesis.core import NOT_SET

WAIT_MAX_MS = 60_000


def without_fractions(value):
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [without_fractions(item) for item in value]
    if isinstance(value, dict):
        return {name: without_fractions(item) for name, item in value.items()}
    return value


@schemathesis.hook
def filter_case(context, case):
    takes_none = case.operation.definition.raw.get("requestBody", {}).get("required") is not True
    negative = case.meta is not None and case.meta.generation.mode.is_negative
    return not (negative and case.body is NOT_SET and takes_none and case.operation.body)


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.meta is None or case.meta.generation.mode.is_positive:
        case.body = without_fractions(case.body)
    body = case.body
    if case.operation.path.endswith("/reserve") and isinstance(body, dict):
        wait = body.get("wait_ms")
        if type(wait) is int and 0 <= wait <= WAIT_MAX_MS:
            body["wait_ms"] = wait % 5
