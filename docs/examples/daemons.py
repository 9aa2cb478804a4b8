#!/usr/bin/python3
"""Asks the nearest of several daemons that answers, with python3-redis: a line of the input is who asks.

    daemons.py host:port ... <ids

A request goes to the next daemon only while it was not sent: whoever got it may have charged it.
"""
import sys
import time

import redis


class Daemons:
    def __init__(self, addresses, timeout_s=0.5, connect_timeout_s=0.25, pause_s=1.0, absent=False):
        self.pause_s, self.absent = pause_s, absent
        self.pools = []
        for address in addresses:
            host, port = address.rsplit(':', 1)
            self.pools.append([address, 0.0, redis.ConnectionPool(
                host=host, port=int(port), socket_timeout=timeout_s, socket_connect_timeout=connect_timeout_s)])

    def ask(self, *words):
        """The answer and who gave it; (None, None): nobody did."""
        for daemon in self.pools:
            address, away_until, pool = daemon
            if time.monotonic() < away_until:
                continue
            try:
                connection = pool.get_connection('ask')  # connects, or notices that the daemon has closed
            except redis.ConnectionError:
                daemon[1] = time.monotonic() + self.pause_s
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
