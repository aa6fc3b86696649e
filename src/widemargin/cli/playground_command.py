"""``widemargin playground``: points, and the exact model of them, in the browser."""

from __future__ import annotations

import socket
import webbrowser
from typing import Any

import click

from .output import InputError


@click.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Port on 127.0.0.1; by default any that is free.",
)
@click.option(
    "--browser/--no-browser",
    default=True,
    help="Whether to open the page in the browser.",
)
def playground(port: int, browser: bool) -> None:
    """Add, drag and forget points in the browser; the model follows exactly.

    The page comes from this machine and is for this machine: bound to 127.0.0.1,
    with a random token in its address. Ctrl-C ends it.
    """
    try:
        import uvicorn

        from widemargin.playground.server import Playground
    except ImportError as error:
        raise InputError(
            f"the playground needs starlette and uvicorn ({error}): "
            "pip install 'widemargin[playground]'"
        ) from error
    listening = _listening(port)
    number = listening.getsockname()[1]
    page = Playground()
    address = f"http://127.0.0.1:{number}/?token={page.token}"
    server: Any = uvicorn.Server(
        uvicorn.Config(page.app(), log_level="warning", lifespan="off")
    )
    click.echo(f"playground at {address}")
    click.echo("Ctrl-C ends it", err=True)
    if browser:
        webbrowser.open(address)  # connections wait in the socket's queue
    server.run(sockets=[listening])


def _listening(port: int) -> socket.socket:
    """Return a socket on 127.0.0.1."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
        listening.listen(64)
    except OSError as error:
        listening.close()
        raise InputError(f"--port {port}: {error.strerror}") from error
    return listening
