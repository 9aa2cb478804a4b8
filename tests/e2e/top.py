"""Runs `headgate top` in a terminal and watches it: arguments are the program, the daemon's address, the process of a
peer and the peer's name. Prints "fine", or what it did not see."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

DEADLINE_S = 120
COLUMNS = 78


class Terminal:
    def __init__(self, words, rows):
        ready, go = os.pipe()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.read(ready, 1)
            os.environ.update(TERM='xterm')
            os.execv(words[0], words)
        self.resize(rows)
        self.before = termios.tcgetattr(self.fd)
        self.seen = ''
        os.write(go, b'x')

    def resize(self, rows):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack('HHHH', rows, COLUMNS, 0, 0))

    def read(self, deadline):
        if not select.select([self.fd], [], [], max(0, deadline - time.monotonic()))[0]:
            return False
        try:
            piece = os.read(self.fd, 65536)
        except OSError:  # the other side is closed
            piece = b''
        self.seen += piece.decode()
        return piece != b''

    def frame(self):
        """The newest whole page: its lines without what moves the cursor."""
        pages = self.seen.split('\x1b[H')
        whole = [page for page in pages[1:] if '\x1b[J' in page]
        return re.sub(r'\x1b\[[?0-9;]*[A-Za-z]', '', whole[-1]).replace('\r', '').split('\n') if whole else []

    def until(self, holds):
        deadline = time.monotonic() + DEADLINE_S
        while not holds(self.frame()):
            if not self.read(deadline):
                return False
        return True

    def end(self):
        deadline = time.monotonic() + DEADLINE_S
        while self.read(deadline):
            pass
        return os.waitpid(self.pid, 0)[1]


def has(*parts):
    return lambda frame: any(all(part in line for part in parts) for line in frame)


def main():
    program, address, peer, name = sys.argv[1:]
    terminal = Terminal([program, '--at', address, 'top', 'interval', '100ms'], 40)
    steps = [
        ('a page', lambda: terminal.until(has('headgate ', 'holds'))),
        ('figures a second', lambda: terminal.until(has('admitted', '/s', 'refused'))),
        ('every peer', lambda: terminal.until(has(name, 'active'))),
        ('every rule', lambda: terminal.until(has('shop/login'))),
        ('a peer that is silent', lambda: os.kill(int(peer), signal.SIGSTOP) or terminal.until(has(name, 'silent'))),
        ('the peer that is back', lambda: os.kill(int(peer), signal.SIGCONT) or terminal.until(has(name, 'active'))),
        ('lines as wide as the terminal', lambda: max(map(len, terminal.frame())) <= COLUMNS),
        ('no more lines than a small terminal has',
         lambda: terminal.resize(8) or terminal.until(lambda frame: 0 < len(frame) <= 8)),
    ]
    try:
        for what, step in steps:
            if not step():
                return f'no {what} in {terminal.frame()}'
        os.write(terminal.fd, b'x')
        os.write(terminal.fd, b'q')
        status = terminal.end()
        if status != 0:
            return f'q ends with the status {status}'
        if not terminal.seen.endswith('\x1b[?25h\x1b[?1049l'):
            return f'the screen is not left: {terminal.seen[-40:]!r}'
        terminal = Terminal([program, '--at', address, 'top'], 24)
        if not terminal.until(has('headgate ')):
            return 'no second page'
        os.kill(terminal.pid, signal.SIGINT)
        status = terminal.end()
        if not terminal.seen.endswith('\x1b[?1049l') or os.waitstatus_to_exitcode(status) != 128 + signal.SIGINT:
            return f'SIGINT: {status}, {terminal.seen[-40:]!r}'
        terminal = Terminal([program, '--at', '127.0.0.1:1', 'top'], 24)
        status = os.waitstatus_to_exitcode(terminal.end())
        if status != 69 or 'no daemon answers' not in terminal.seen or '\x1b[?1049h' in terminal.seen:
            return f'no daemon: {status}, {terminal.seen!r}'
        return 'fine'
    finally:
        os.kill(int(peer), signal.SIGCONT)
        try:
            os.kill(terminal.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


print(main())
