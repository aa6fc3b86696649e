"""The server: for this machine and who has the token; the page needs nothing else."""

from __future__ import annotations

import http.client
import json
import re
import socket
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

from widemargin.playground.messages import MAX_BYTES
from widemargin.playground.server import SESSIONS, Playground

from tests.playground.browsing import served


@pytest.fixture(scope="module")
def place():
    with served() as (address, playground):
        yield urlsplit(address), playground.token


def request(place, path, *, method="POST", body=b"{}", **headers):
    """Return status, headers and text of an answer."""
    address, token = place
    given = {"X-Token": token} | {k.replace("_", "-"): v for k, v in headers.items()}
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
    connection.request(method, path, body=body, headers=given)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, dict(answer.getheaders()), text


def opened(place):
    """Open a page; return its text and the name of its session."""
    status, headers, text = request(place, f"/?token={place[1]}", method="GET", body="")
    assert status == 200
    found = re.search(r'"session": "([^"]+)"', text)
    assert found
    return text, headers, found[1]


def test_the_page_is_one_file_that_asks_nobody_else(place):
    text, headers, _ = opened(place)
    assert "{{" not in text
    assert re.findall(r'(?:src|href)\s*=\s*"([^"]*)"', text) == ["data:,"]
    assert not re.search(r"https?://(?!127\.0\.0\.1)", text)
    assert "import(" not in text
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["cache-control"] == "no-store"


def test_a_change_and_its_comparison(place):
    session = opened(place)[2]
    body = json.dumps({"op": "forget", "ids": [3]}).encode()
    status, _, text = request(place, "/api/do", body=body, X_Session=session)
    assert status == 200
    version = json.loads(text)["version"]
    body = json.dumps({"version": version}).encode()
    status, _, text = request(place, "/api/retrain", body=body, X_Session=session)
    assert status == 200
    assert json.loads(text)["difference"] < 1e-10
    status, _, text = request(place, "/api/retrain", X_Session=session)
    assert (status, json.loads(text)) == (200, {"outdated": True})


def test_pages_have_sessions_of_their_own(place):
    first, second = opened(place)[2], opened(place)[2]
    body = json.dumps({"op": "forget", "ids": [3]}).encode()
    request(place, "/api/do", body=body, X_Session=first)
    counts = [
        json.loads(request(place, "/api/look", X_Session=name)[2])["count"]
        for name in (first, second)
    ]
    assert counts[1] - counts[0] == 1
    for _ in range(SESSIONS):
        opened(place)
    status, _, text = request(place, "/api/look", X_Session=first)
    assert (status, json.loads(text)["error"]) == (
        404,
        "this page is out of date: reload it",
    )


@pytest.mark.parametrize("token", ["", "wrong", "\u00e9"])
def test_without_the_token_nothing_is_answered(place, token):
    session = opened(place)[2]
    sent = token.encode("latin-1")
    for path in ("/api/look", "/api/do"):
        status, _, text = request(place, path, X_Token=sent, X_Session=session)
        assert status == 403
        assert "token" in json.loads(text)["error"]
    status, _, _ = request(place, "/?token=wrong", method="GET", body="")
    assert status == 403


def test_every_playground_draws_a_token_of_its_own():
    tokens = {Playground().token for _ in range(20)}
    assert len(tokens) == 20
    assert min(map(len, tokens)) >= 22  # 128 bits, six in a letter


def test_another_name_of_the_host_is_refused(place):
    """A page elsewhere that had its name point to 127.0.0.1 (DNS rebinding)."""
    status, _, _ = request(
        place, f"/?token={place[1]}", method="GET", body="", Host="evil.example"
    )
    assert status == 403


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"x" * (3 * MAX_BYTES), "longer than"),
        (b'{"op": NaN}', "no JSON"),
        (b'{"op": "fit"}', "none of"),
    ],
)
def test_bad_messages_get_one_line_and_the_session_goes_on(place, body, why):
    session = opened(place)[2]
    status, _, text = request(place, "/api/do", body=body, X_Session=session)
    assert status == 400
    assert why in json.loads(text)["error"]
    assert request(place, "/api/look", X_Session=session)[0] == 200


def test_unknown_addresses_and_methods(place):
    session = opened(place)[2]
    assert request(place, "/api/exec", X_Session=session)[0] == 404
    assert request(place, "/api/do", method="GET", X_Session=session)[0] == 405
    assert request(place, "/etc/passwd", method="GET")[0] == 404


def test_the_command_serves_until_it_is_interrupted():
    command = [sys.executable, "-m", "widemargin.cli", "playground", "--no-browser"]
    command[2] = "widemargin.cli.__main__"
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        line = process.stdout.readline()
        found = re.fullmatch(
            r"playground at (http://127\.0\.0\.1:\d+/\?token=\S+)\n", line
        )
        assert found, line
        address = urlsplit(found[1])
        token = address.query.removeprefix("token=")
        assert request((address, token), f"/?{address.query}", method="GET")[0] == 200
        with pytest.raises(OSError):  # no other address of this machine answers
            socket.create_connection(("127.0.0.2", address.port), timeout=60)
    finally:
        process.send_signal(2)
        _, said = process.communicate(timeout=60)
    assert "Traceback" not in said
    assert process.returncode in (0, 1)
