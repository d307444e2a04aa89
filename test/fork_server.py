"""Runs the command line tools of RUN lines in forks of one process that has imported them.

A FileCheck test starts three tools of which each imports the compiler for half a second and works
for a tenth. `start` makes a folder with launchers of their names, and starts this file as a server.
A launcher hands its arguments, working directory, environment and standard streams over, and ends
as the tool did. The server imports what the tools' own modules import, and runs nothing of them
before it forks: what a tool needs beyond that it imports itself, as in a process of its own.
"""

import json
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

TOOLS = {
    "lamina-opt": "lamina.tools.lamina_opt",
    "lamina-run": "lamina.tools.lamina_run",
    "lamina-ops": "lamina.tools.lamina_ops",
    "filecheck": "filecheck.main",
}
"""The module with `main` of each tool."""
_servers: list[subprocess.Popen[bytes]] = []
"""Their standard input stays open as long as this process lives."""

_LAUNCHER = """#!{python} -ISE
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
request = json.dumps([{tool!r}, sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
socket.send_fds(server, [len(request).to_bytes(8, "little")], [0, 1, 2])
server.sendall(request)
code = server.recv(1)
if not code:
    os.abort()  # as the tool did
sys.exit(code[0])
"""


def start(environment: Mapping[str, str]) -> Path:
    """The folder of launchers; it and the server go when this process ends."""
    folder = Path(tempfile.mkdtemp(prefix="lamina-tools-"))
    address = str(folder / "server")
    for tool in TOOLS:
        launcher = folder / tool
        launcher.write_text(
            _LAUNCHER.format(python=sys.executable, address=address, tool=tool), encoding="utf-8"
        )
        launcher.chmod(launcher.stat().st_mode | stat.S_IXUSR)
    # Bound here, so that a launcher may connect while the server still imports.
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(128)
        server = subprocess.Popen(
            [sys.executable, __file__, str(listener.fileno()), str(folder)],
            env=dict(environment),
            stdin=subprocess.PIPE,
            pass_fds=[listener.fileno()],
        )
    _servers.append(server)
    return folder


def _serve(listener: socket.socket) -> None:
    """Forks a tool for each connection until standard input ends."""
    import gc
    import importlib
    import select
    import signal

    for module in TOOLS.values():
        importlib.import_module(module)
    gc.collect()
    gc.freeze()  # a fork's collections would copy the pages of all modules
    poll = select.poll()
    poll.register(0)
    poll.register(listener, select.POLLIN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for forks
    while all(file != 0 for file, _ in poll.poll()):
        connection, _ = listener.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listener.close()
            _run(connection)
        connection.close()


def _run(connection: socket.socket) -> NoReturn:
    """One request in this fork of the server."""
    import importlib
    import threading
    import traceback

    length, files, _, _ = socket.recv_fds(connection, 8, 3)
    missing = int.from_bytes(length, "little")
    request = b""
    while len(request) < missing:
        request += connection.recv(missing - len(request))
    tool, arguments, folder, environment = json.loads(request)
    for standard, file in enumerate(files):
        os.dup2(file, standard)
        os.close(file)
    # The server's own streams know what its files were, whether one can seek in them for one.
    sys.stdin, sys.stdout = open(0), open(1, "w")  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace")  # noqa: SIM115
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [tool, *arguments]

    def end_with_launcher() -> None:
        connection.recv(1)
        os._exit(1)

    # lit ends a launcher that takes too long.
    threading.Thread(target=end_with_launcher, daemon=True).start()
    code: object = 1
    try:
        code = importlib.import_module(TOOLS[tool]).main()
    except SystemExit as end:
        code = end.code
    except BaseException:
        traceback.print_exc()
    try:
        if isinstance(code, str):
            print(code, file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
    except BrokenPipeError:
        code = 1
    connection.send(bytes([code % 256 if isinstance(code, int) else int(code is not None)]))
    os._exit(0)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as server:
        _serve(server)
    shutil.rmtree(sys.argv[2])
