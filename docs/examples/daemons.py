#!/usr/bin/python3
"""Asks the nearest of several daemons that answers, with python3-redis: a line of the input is who asks.

    daemons.py host:port ... <ids

A request goes to the next daemon only while it was not sent: whoever got it may have charged it. A daemon that was away is
asked again when it has a share: before that it refuses everything.
"""
import sys
import time

import redis


def has_share(connection):
    """Whether the daemon decides: it says so of whatever key, and takes nothing."""
    connection.send_command('PEEK', 'anybody', 'VERBOSE')
    try:
        rules = connection.read_response()[6]
    except redis.ResponseError:
        return True  # this user may not ask, or there is no limit for everybody
    return not any(b'not_ready' in rule for rule in rules)


class Daemons:
    def __init__(self, addresses, timeout_s=0.5, connect_timeout_s=0.25, pause_s=1.0, absent=False):
        self.pause_s, self.absent = pause_s, absent
        self.pools = []
        for address in addresses:
            host, port = address.rsplit(':', 1)
            # Until when it is left alone, or None: it answers, and has a share.
            self.pools.append([address, 0.0, redis.ConnectionPool(
                host=host, port=int(port), socket_timeout=timeout_s, socket_connect_timeout=connect_timeout_s)])

    def connect(self, daemon):
        """A connection to the daemon. None: it is away, or has no share yet."""
        _, away_until, pool = daemon
        if away_until is not None and time.monotonic() < away_until:
            return None
        connection = None
        try:
            connection = pool.get_connection('ask')  # connects, or notices that the daemon has closed
            if away_until is None or has_share(connection):
                daemon[1] = None
                return connection
        except (redis.ConnectionError, redis.TimeoutError):
            if connection is not None:
                connection.disconnect()
        if connection is not None:
            pool.release(connection)
        daemon[1] = time.monotonic() + self.pause_s
        return None

    def ask(self, *words):
        """The answer and who gave it; (None, None): nobody did."""
        for daemon in self.pools:
            address, _, pool = daemon
            connection = self.connect(daemon)
            if connection is None:
                continue
            try:
                connection.send_command(*words)
                return connection.read_response(), address
            except (redis.ConnectionError, redis.TimeoutError):
                connection.disconnect()
                daemon[1] = time.monotonic() + self.pause_s
                return None, None  # it may have been charged
            finally:
                pool.release(connection)
        return None, None

    def can_access(self, key):
        answer, who = self.ask('CAN_ACCESS', key)
        return (self.absent if answer is None else answer == 1), who


def main():
    daemons = Daemons(sys.argv[1:])
    for line in sys.stdin:
        name = line.strip()
        allowed, who = daemons.can_access(name)
        print(f"{name}: {'go ahead' if allowed else 'not now'}, said by {who or 'nobody'}", flush=True)


if __name__ == '__main__':
    main()
