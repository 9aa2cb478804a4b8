"""Asks as Envoy does, by Debian's python3-grpcio: envoy.py HOST:PORT DOMAIN HITS KEY=VALUE ...

Each KEY=VALUE is an entry of one descriptor. Prints OK or OVER_LIMIT. The messages are made by hand, as far as they are
needed here; a program of your own has them from Envoy's protos.
"""
import sys

import grpc

METHOD = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit'


def varint(number):
    low = bytes([number & 127 | (128 if number > 127 else 0)])
    return low + varint(number >> 7) if number > 127 else low


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def request(domain, hits, entries):
    descriptor = b''.join(field(1, field(1, key.encode()) + field(2, value.encode())) for key, value in entries)
    hits_addend = field(3, b'\x08' + varint(hits))  # a message, so that 0 can be said
    return field(1, domain.encode()) + field(2, descriptor + hits_addend)


if len(sys.argv) < 5 or not sys.argv[3].isdecimal() or not all('=' in entry for entry in sys.argv[4:]):
    sys.exit(__doc__)
address, domain, hits, *entries = sys.argv[1:]
try:
    with grpc.insecure_channel(address) as channel:
        answer = channel.unary_unary(METHOD)(
            request(domain, int(hits), [entry.split('=', 1) for entry in entries]), timeout=1)
except grpc.RpcError as error:
    sys.exit(f'{error.code().name}: {error.details()}')
print({1: 'OK', 2: 'OVER_LIMIT'}[answer[1]])  # overall_code comes first
