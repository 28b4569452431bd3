"""The rules over topics as an API: seen, replaced with a condition, in force at once, and kept over a restart."""

import json
import os
import signal
import subprocess
import urllib.error
import urllib.request

import pytest

from device import V5, Device
from server import PATIENCE_S, PEER, binary, until

pytestmark = pytest.mark.skipif(PEER == "mosquitto", reason="the API of stadium")

OPEN = '[auth]\nanonymous = "without-credentials"\n'
NEWS = {"allow": ["subscribe"], "topics": ["news/#"]}


def ask(server, method="GET", body=None, match=None, kind="application/json", key=None):
    """Status, document and ETag."""
    request = urllib.request.Request(server.http + "/api/rules", method=method)
    key = key or (server.folder / "data/admin.key").read_text().strip()
    request.add_header("Authorization", f"Bearer {key}")
    if match:
        request.add_header("If-Match", match)
    if body is not None:
        request.data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        request.add_header("Content-Type", kind)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
            return answer.status, json.load(answer), answer.headers["ETag"]
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error), error.headers["ETag"]


@pytest.fixture
def device():
    made = []

    def make(server, **arguments):
        made.append(Device(server, version=V5, **arguments))
        made[-1].connect()
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_rules_are_replaced_with_a_condition_and_hold_at_once_and_after_a_restart(start, device):
    server = start(trial=False, settings=OPEN)
    status, shown, tag = ask(server)
    assert status == 200 and "file" not in shown and not shown["trial"], shown
    assert shown["rules"][1] == {"allow": ["publish"], "topics": ["uplink/%c/#"]}
    reader = device(server)
    assert reader.subscribe("news/#", "channels/a") == [0x87, 0]

    status, changed, newer = ask(server, "PUT", {"rules": [NEWS]}, match=tag)
    assert status == 200 and changed["rules"] == [NEWS] and newer != tag, changed
    kept = server.folder / "data/rules.toml"
    assert changed["file"] == str(kept) and os.stat(kept).st_mode & 0o777 == 0o600
    # Whoever read them before changes nothing.
    status, problem, _ = ask(server, "PUT", {"rules": []}, match=tag)
    assert (status, problem["code"]) == (412, "RULES-001"), problem
    until("the new rules at the loops", lambda: reader.subscribe("news/#") == [0])
    # The subscription that the new rules deny has ended.
    assert reader.subscribe("channels/a") == [0x87]
    server.restart()
    status, after, again = ask(server)
    assert (after["rules"], again) == ([NEWS], newer)
    assert device(server).subscribe("news/#") == [0]
    status, _, _ = ask(server, "PUT", {"rules": [NEWS]}, match=f'"other", {newer}')
    assert status == 200


def test_mistakes_name_the_rule_its_line_and_the_reason(start):
    server = start(trial=False, settings=OPEN)
    before = ask(server)
    text = '# mine\n[[rule]]\nallow = ["subscribe"]\ntopics = ["a"]\n\n[[rule]]\nallow = ["subscribe"]\ntopics = ["a/#/b"]\n'
    status, problem, _ = ask(server, "PUT", text, kind="application/toml")
    assert (status, problem["code"], problem["path"]) == (422, "RULES-002", "rules[1]"), problem
    assert "rule 2 (line 6)" in problem["detail"] and "# stands only in the last level" in problem["detail"], problem
    status, problem, _ = ask(server, "PUT", "[[rule]]\nallow = [\n", kind="application/toml")
    assert (status, problem["code"]) == (422, "RULES-002") and "line" in problem["detail"], problem
    for body, code, path in (
        ({"rules": [NEWS, {"topics": ["a"]}]}, "RULES-002", "rules[1]"),
        ({"rules": [NEWS, {"allow": ["read"], "topics": ["a"]}]}, "RULES-002", "rules[1]"),
        ({"rules": [{"allow": ["publish"], "topic": "a"}]}, "HTTP-005", "rules[0].topic"),
        ({}, "HTTP-005", ""),
    ):
        status, problem, _ = ask(server, "PUT", body)
        assert (status, problem["code"]) == (422, code) and problem.get("path", "").startswith(path), problem
    assert ask(server) == before
    good = text.replace("a/#/b", "b/#")
    assert ask(server, "PUT", good, kind="application/toml")[0] == 200
    assert (server.folder / "data/rules.toml").read_text() == good, "with its comments"


def test_a_file_that_was_edited_is_not_overwritten(start):
    settings = OPEN.replace("\n", '\nrules_file = "@rules.toml"\n', 1)
    text = '[[rule]]\nallow = ["subscribe"]\ntopics = ["a"]\n'
    server = start(trial=False, settings=settings, files={"rules.toml": text})
    path = server.folder / "rules.toml"
    assert ask(server)[1]["file"] == str(path)
    path.write_text(text.replace('"a"', '"b"'))
    status, problem, _ = ask(server, "PUT", {"rules": [NEWS]})
    assert (status, problem["code"]) == (409, "RULES-003") and "SIGHUP" in problem["detail"], problem
    assert '"b"' in path.read_text()
    server.process.send_signal(signal.SIGHUP)
    until("the edited file", lambda: ask(server)[1]["rules"][0]["topics"] == ["b"])
    assert ask(server, "PUT", {"rules": [NEWS]})[0] == 200
    assert "news/#" in path.read_text()


def test_each_call_asks_for_its_right_and_a_trial_has_no_rules(start):
    server = start(trial=False, settings=OPEN)

    def secret(**rights):
        status, made = server.call("POST", "/api/keys", {"name": "k", **rights})
        assert status == 201, made
        return made["secret"]

    operator, reader, writer = secret(roles=["operator"]), secret(grants=["rules.read"]), secret(grants=["rules.write"])
    assert [ask(server, key=key)[0] for key in (operator, reader, writer)] == [200, 200, 403]
    for key, expected in ((operator, 403), (reader, 403), (writer, 200)):
        assert ask(server, "PUT", {"rules": [NEWS]}, key=key)[0] == expected
    status, log = server.call("GET", "/api/audit")
    assert any("/api/rules" in json.dumps(entry) for entry in log["entries"]), log
    trial = start()
    assert ask(trial)[1] == {"trial": True, "rules": []}
    status, problem, _ = ask(trial, "PUT", {"rules": [NEWS]})
    assert (status, problem["code"]) == (409, "RULES-003"), problem


def test_apply_shows_the_difference_sets_them_and_then_changes_nothing(start, tmp_path):
    server = start(trial=False, settings=OPEN)

    def stadium(*arguments):
        command = [binary(), *arguments, "--data", server.folder / "data"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, done.stderr
        return done.stdout

    file = tmp_path / "site.toml"
    rule = '[[rules]]\nallow = ["subscribe"]\ntopics = ["{}"]\n'
    file.write_text(rule.format("news/#") + rule.format("inbox/%c"))
    shown = stadium("apply", file, "--dry-run")
    assert "~ rules over topics (2)" in shown and "rule 1:" in shown and "rule 2:" in shown, shown
    assert "1 change made" in stadium("apply", file, "--yes")
    assert ask(server)[1]["rules"] == [NEWS, {"allow": ["subscribe"], "topics": ["inbox/%c"]}]
    assert "no changes: 1 as declared" in stadium("apply", file, "--yes")
    # The order counts, and a rule that is left out goes.
    file.write_text(rule.format("inbox/%c"))
    shown = stadium("apply", file, "--dry-run")
    assert "rule 1:" in shown and "rule 2:" in shown, shown
    exported = tmp_path / "present.toml"
    exported.write_text(stadium("export"))
    assert "no changes" in stadium("apply", exported, "--dry-run")
    # A mistake is the server's to find, and names the rule.
    file.write_text(rule.format("a/#/b"))
    command = [binary(), "apply", file, "--yes", "--data", server.folder / "data"]
    failed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert failed.returncode == 1 and "rules[0]" in failed.stderr and "RULES-002" in failed.stderr, failed.stderr
