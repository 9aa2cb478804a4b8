"""What a gateway asks, by Debian's python3-grpcio. Usage: gateway.py PORT PROTO_DIRECTORY SCRATCH; prints "fine"."""
import os
import subprocess
import sys

import grpc

port, protos, scratch = sys.argv[1:4]


def stubs():
    """The messages as protoc makes them from the files of the daemon."""
    names = [os.path.relpath(os.path.join(at, name), protos)
             for at, _, found in os.walk(protos) for name in found]
    subprocess.run(['protoc', '-I', protos, '-I', '/usr/include', '--python_out', scratch, *sorted(names),
                    'protobuf-c/protobuf-c.proto'], check=True)
    sys.path.insert(0, scratch)


stubs()
from google.protobuf import wrappers_pb2
from envoy.service.ratelimit.v3 import rls_pb2
from envoy.extensions.common.ratelimit.v3 import ratelimit_pb2
# the package grpc of the health messages would hide the library
sys.path.insert(0, os.path.join(scratch, 'grpc', 'health', 'v1'))
import health_pb2

OK, OVER = rls_pb2.RateLimitResponse.OK, rls_pb2.RateLimitResponse.OVER_LIMIT
MINUTE = rls_pb2.RateLimitResponse.RateLimit.MINUTE

channel = grpc.insecure_channel(f'127.0.0.1:{port}')
should_rate_limit = channel.unary_unary('/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit',
                                        rls_pb2.RateLimitRequest.SerializeToString,
                                        rls_pb2.RateLimitResponse.FromString)
check_health = channel.unary_unary('/grpc.health.v1.Health/Check', health_pb2.HealthCheckRequest.SerializeToString,
                                   health_pb2.HealthCheckResponse.FromString)


def descriptor(*entries, hits=None, back=False, limit=None):
    made = ratelimit_pb2.RateLimitDescriptor(is_negative_hits=back)
    for key, value in entries:
        made.entries.add(key=key, value=value)
    if hits is not None:
        made.hits_addend.CopyFrom(wrappers_pb2.UInt64Value(value=hits))
    if limit is not None:
        made.limit.requests_per_unit, made.limit.unit = limit
    return made


def ask(domain, *descriptors, hits=0, **how):
    return should_rate_limit(
        rls_pb2.RateLimitRequest(domain=domain, descriptors=descriptors, hits_addend=hits), timeout=10, **how)


def code(domain, *descriptors, **how):
    return ask(domain, *descriptors, **how).overall_code


def fails(status, call):
    try:
        call()
    except grpc.RpcError as error:
        assert error.code() == status, (error.code(), error.details())
        return error.details()
    raise AssertionError(f'expected {status}')


def limited(domain, admitted, *descriptors):
    """So many are admitted, and no more."""
    assert [code(domain, *descriptors) for _ in range(admitted + 1)] == [OK] * admitted + [OVER], descriptors


# ---- what envoyproxy/ratelimit's integration scripts look for ----

# trigger: three in a minute for each value
limited('edge', 3, descriptor(('foo', 'pelle'), ('baz', 'not-so-shady')))
limited('edge', 3, descriptor(('foo', 'other'), ('baz', 'not-so-shady')))

# shadow: the same limit, said and not enforced
for _ in range(5):
    answer = ask('edge', descriptor(('foo', 'pelle'), ('baz', 'shady')))
    assert answer.overall_code == OK, answer
assert answer.statuses[0].limit_remaining == 0 and answer.statuses[0].current_limit.name == 'shady', answer

# quota: a request that falls under two limits is debited from both, and the smaller one refuses it
one, two = descriptor(('service', 'one')), descriptor(('service', 'two'))
assert code('edge', one, two) == OK
answer = ask('edge', one, two)
assert [status.code for status in answer.statuses] == [OVER, OK] and answer.overall_code == OVER, answer
answer = ask('edge', one, two)
assert [status.code for status in answer.statuses] == [OVER, OVER], answer

# replaces: where the rule by category counts as well, the one that it replaces does not
fake, category = [('source', 'proxy'), ('target', 'fake')], ('category', 'account')
limited('edge', 2, descriptor(*fake))
limited('edge', 4, descriptor(*fake, category))

# token quota: what a request takes is known at its end; at its begin it is asked whether anything is left
account = ('account', 'acme')
for used in 60, 60:
    assert code('edge', descriptor(account, hits=0)) == OK
    assert code('edge', descriptor(account, ('drain', 'true'), hits=used)) == OK
answer = ask('edge', descriptor(account, hits=0))
assert answer.overall_code == OVER and answer.statuses[0].limit_remaining == 0, answer
assert int({head.key: head.value for head in answer.response_headers_to_add}['Retry-After']) > 0, answer

# quota mode: of alternatives one with room is enough, and the metadata says which one has
one, two = [descriptor(('service', name), ('alternative', 'true')) for name in ('three', 'four')]
for expected, service in ([OK, OK], 'three'), ([OVER, OK], 'four'), ([OVER, OVER], None):
    answer = ask('edge', one, two)
    assert [status.code for status in answer.statuses] == expected, answer
    assert answer.overall_code == (OK if service else OVER), answer
    metadata = answer.dynamic_metadata
    assert metadata['domain'] == 'edge' and metadata['metadata'].fields['service'].string_value == (service or ''), answer
    assert [each['over'] for each in metadata['descriptors']] == [code == OVER for code in expected], answer
assert not ask('edge', descriptor(('service', 'five'))).HasField('dynamic_metadata')

# unlimited
assert [code('edge', descriptor(('foo', 'unlimited'))) for _ in range(20)] == [OK] * 20

# ---- descriptors ----

answer = ask('edge', descriptor(('endpoint', '/v1/orders?id=7'), ('user', 'bob')))
status = answer.statuses[0]
assert (status.current_limit.name, status.current_limit.requests_per_unit, status.current_limit.unit) == \
    ('orders', 60, MINUTE), answer
assert status.limit_remaining == 9 and 0 < status.duration_until_reset.ToNanoseconds() <= 10**9, answer
heads = {head.key: head.value for head in answer.response_headers_to_add}
assert heads['X-RateLimit-Limit'] == '10' and heads['X-RateLimit-Remaining'] == '9', answer
assert code('edge', descriptor(('endpoint', '/v1/orders'), ('user', 'bob')), hits=11) == OVER
answer = ask('edge', descriptor(('endpoint', '/v1/orders'), ('user', 'bob'), hits=0))
assert answer.statuses[0].limit_remaining == 9, 'a peek takes nothing, and what was refused took nothing'
answer = ask('edge', descriptor(('endpoint', '/v1/orders'), ('user', 'bob'), hits=4), hits=9)
assert answer.statuses[0].limit_remaining == 5, 'the hits of a descriptor go before those of all'
answer = ask('edge', descriptor(('endpoint', '/v1/orders'), ('user', 'bob'), hits=2, back=True))
assert answer.overall_code == OK and answer.statuses[0].limit_remaining == 7, answer
answer = ask('edge', descriptor(('endpoint', '/v1/orders'), ('user', 'bob'), hits=100, back=True))
assert answer.statuses[0].limit_remaining == 10, 'no more comes back than was taken'

# a key that two descriptors name is charged once
answer = ask('edge', descriptor(('ip', '10.0.0.1')), descriptor(('ip', '10.0.0.1'), ('path', '/a')))
assert [status.limit_remaining for status in answer.statuses] == [4, 1], answer

# long values are told apart, and are no error
limited('edge', 5, descriptor(('ip', 'x' * 4000)))
assert code('edge', descriptor(('ip', 'x' * 3999))) == OK

# a limit of its own
mine = descriptor(('tenant', 'acme'), limit=(2, MINUTE))
limited('edge', 2, mine)
answer = ask('edge', mine)
assert answer.statuses[0].current_limit.requests_per_unit == 2, answer
assert {head.key for head in answer.response_headers_to_add} >= {'Retry-After'}, answer
assert code('edge', descriptor(('tenant', 'other'), limit=(0, MINUTE))) == OVER

# ---- what is wrong ----

assert [code('nowhere', descriptor(('foo', 'bar'))) for _ in range(3)] == [OK] * 3, 'an unknown domain'
fails(grpc.StatusCode.INVALID_ARGUMENT, lambda: ask('', descriptor(('foo', 'bar'))))
fails(grpc.StatusCode.INVALID_ARGUMENT, lambda: ask('edge'))
said = fails(grpc.StatusCode.INVALID_ARGUMENT, lambda: ask('edge', descriptor(('a b', 'c'))))
assert said.startswith("descriptor 0, entry a b: dimension 'a b' has characters"), said
assert code('edge', descriptor(('foo', 'x' * 16000))) == OK, 'a message that is read'
for size in (16384, 20000, 4000000):
    assert code('edge', descriptor(('foo', 'x' * size))) == OVER, 'what a client makes too large does not pass'
fails(grpc.StatusCode.RESOURCE_EXHAUSTED, lambda: ask('edge', descriptor(('foo', 'x' * (4 << 20)))))
fails(grpc.StatusCode.RESOURCE_EXHAUSTED, lambda: check_health(health_pb2.HealthCheckRequest(service='x' * 20000)))
together = [should_rate_limit.future(rls_pb2.RateLimitRequest(
    domain='edge', descriptors=[descriptor(('foo', f'{i}' + 'x' * (15000 if i % 2 else 10)))]), timeout=10)
    for i in range(90)]
assert {one.result().overall_code for one in together[::2]} == {OK}, 'what is small is read beside what is large'
assert {one.result().overall_code for one in together[1::2]} <= {OK, OVER}, 'and no large one is an error'
fails(grpc.StatusCode.UNIMPLEMENTED, lambda: ask('edge', descriptor(('foo', 'bar')),
                                                 compression=grpc.Compression.Gzip))
other = channel.unary_unary('/envoy.service.ratelimit.v3.RateLimitService/Other')
fails(grpc.StatusCode.UNIMPLEMENTED, lambda: other(b''))
broken = channel.unary_unary('/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit')
fails(grpc.StatusCode.INVALID_ARGUMENT, lambda: broken(b'\xff\xff'))

# ---- health ----

assert check_health(health_pb2.HealthCheckRequest()).status == health_pb2.HealthCheckResponse.SERVING
named = health_pb2.HealthCheckRequest(service='envoy.service.ratelimit.v3.RateLimitService')
assert check_health(named).status == health_pb2.HealthCheckResponse.SERVING
fails(grpc.StatusCode.NOT_FOUND, lambda: check_health(health_pb2.HealthCheckRequest(service='x')))
watch_health = channel.unary_stream('/grpc.health.v1.Health/Watch', health_pb2.HealthCheckRequest.SerializeToString,
                                    health_pb2.HealthCheckResponse.FromString)
watched = watch_health(named)
assert next(watched).status == health_pb2.HealthCheckResponse.SERVING
assert code('edge', descriptor(('watched', 'yes'))) == OK, 'others are served while one watches'
unknown = watch_health(health_pb2.HealthCheckRequest(service='x'))
assert next(unknown).status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
unknown.cancel()

# ---- many at a time ----

calls = [should_rate_limit.future(rls_pb2.RateLimitRequest(domain='edge',
                                                           descriptors=[descriptor(('many', 'yes'))]))
         for _ in range(300)]
codes = [call.result().overall_code for call in calls]
assert codes.count(OK) == 100, codes.count(OK)
print('fine')
