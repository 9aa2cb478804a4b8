"""Runs redis-cli in a terminal and types: argument 1 is the port. Prints "fine", or what it did not see."""
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

STEPS = [
    (b'', b'> '),
    (b'can_access ', b'key [cost]'),  # the hint, from COMMAND DOCS
    (b'tty\r', b'(integer) 1'),
    (b'', b'> '),  # what is typed before the prompt stands goes through another discipline of the line
    (b'help check\r', b'[COST n] [COST name=n ...] [PATIENCE ms] [DRAIN] [WAIT] [VERBOSE] [IDEMPOTENCY_KEY key]'),
    (b'', b'> '),
    (b'help @limits\r', b'EXPLAIN'),
]


def main():
    ready, go = os.pipe()
    pid, terminal = pty.fork()
    if pid == 0:
        os.read(ready, 1)
        os.environ.update(TERM='xterm', HOME='/nonexistent')
        os.execvp('redis-cli', ['redis-cli', '-p', sys.argv[1]])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack('HHHH', 50, 150, 0, 0))
    os.write(go, b'x')
    seen = b''
    try:
        for typed, expected in STEPS:
            os.write(terminal, typed)
            deadline = time.monotonic() + 60
            while expected not in seen:
                if not select.select([terminal], [], [], max(0, deadline - time.monotonic()))[0]:
                    return f'after {typed!r}: no {expected!r} in {seen!r}'
                seen += os.read(terminal, 65536)
            seen = seen[seen.index(expected) + len(expected):]
        return 'fine'
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


print(main())
