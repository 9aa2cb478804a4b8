#!/usr/bin/perl
# A rule that denies for good, by its list or by a limit of 0: the same figures through all doors, and the rule's name.
# Of a soft rule as well, which allows the request: it is what the request is over, whatever else counts the request.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Http;
use Test::More;

my $cluster = Headgate::cluster(regions => ['here'], listen_http => 1);
$cluster->start;
my $daemon = $cluster->daemon('here');
my ($resp, $http) = ($daemon->client, Http::connect($daemon));
my $rules = <<'YAML';
rules:
  - {id: none, service: hard, by: user, rate: 0}
  - {id: grace, service: soft, by: user, rate: 0, mode: soft}
  - {id: listed, service: list, by: user, rate: 1/s, deny: [ann], mode: soft}
  - {id: per-ip, service: soft, by: ip, rate: 9/d}
  - {id: per-ip, service: list, by: ip, rate: 9/d}
YAML
is($resp->command(qw(RULE SET), $rules), 'OK', 'the rules are set');

my $told = $http->post('/v1/check', {service_id => 'hard', identifiers => {user => 'ann'}});
is_deeply([$told->{status}, @{$told->{json}}{qw(rule limit remaining available_now retry_after_ms reason)}],
    [429, 'none', 0, 0, 0, undef, 'limit_zero'], 'a limit of 0 is 0 over HTTP: null is no limit');
my $verbose = $http->post('/v1/peek', {service_id => 'hard', identifiers => {user => 'ann'}, verbose => JSON::PP::true})
    ->{json};
my @figures = qw(allowed limit retry_after_ms reset_after_ms window_ms);
is_deeply([map { @{$_}{@figures} } $verbose, $verbose->{rules}[0]], [(JSON::PP::false, 0, undef, undef, undef) x 2],
    'of the rule as of the request');
is_deeply($resp->command(qw(CHECK user=ann SERVICE hard)), [0, 0, 0, -1, 0, 'none'], 'and in RESP');

for my $case (['soft', 'grace'], ['list', 'listed']) {
    my ($service, $rule) = @$case;
    for my $ip ({}, {ip => '10.0.0.1'}) {
        my $beside = %$ip ? 'beside a rule that counts' : 'alone';
        my @words = ('user=ann', (map { "$_=$ip->{$_}" } keys %$ip), 'SERVICE', $service);
        is_deeply($resp->command('CHECK', @words), [1, 0, 0, 0, 0, $rule], "$service $beside: the soft rule is named");
        is_deeply($resp->command('CHECK', @words, 'IDEMPOTENCY_KEY', "$service $beside"), [1, 0, 0, 0, 0, $rule],
            '... with a key') for 1 .. 2;
        $told = $http->post('/v1/check', {service_id => $service, identifiers => {user => 'ann', %$ip}});
        is_deeply([$told->{status}, @{$told->{json}}{qw(allowed rule limit remaining retry_after_ms)}],
            [200, JSON::PP::true, $rule, 0, 0, 0], '... over HTTP');
        ok($told->{json}{over_limit}, '... and the request is over its limit');
    }
}
# The operator's command is told by RESP2, which has no place for it but the figures of the rules.
sub asked {
    local $ENV{HEADGATE_AT} = "127.0.0.1:$daemon->{ports}{clients}";
    my ($status, $out) = Headgate::run(20, Headgate::headgate(), @_);
    return "$status $out";
}
is(asked(qw(check user=ann --service soft)),
    "0 allowed  user=ann, over the limit of grace: by its deny list, or a limit of 0\n", 'headgate check says so');
is(asked(qw(check user=ann --service hard)), "1 refused  user=ann under none: by its deny list, or a limit of 0\n",
    'beside what is refused');
like(asked(qw(check user=cal --cost 2 --service list)),
    qr/^0 allowed  user=cal, over the limit of listed: 1 of 1 left.* \(too_large\)$/, 'and why');
like(asked(qw(check user=cal --service list)), qr/^0 allowed  user=cal under listed: 0 of 1 left/,
    'not below the limit');
like(asked(qw(peek user=cal --cost 2 --service list --json)), qr/"reason":"too_large","over_limit":true\}/,
    'and for programs');
like(asked(qw(peek user=cal --cost 0 --service list --json)), qr/"reason":"allowed","over_limit":false\}/, 'of each');
is_deeply([@{$resp->command(qw(CHECK user=ben ip=10.0.0.1 SERVICE list))}[0, 1, 5]], [1, 1, 'listed'],
    'a request that is not on the list is counted');
$cluster->stop;
done_testing;
