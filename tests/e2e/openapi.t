#!/usr/bin/perl
# docs/openapi.yaml says what the server does: every path and method that it has is served, every path of routes.c is in
# it, and every member of real answers is described.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Http;
use JSON::PP;
use Test::More;

my @python = ('python3', "$FindBin::Bin/openapi.py", "$Headgate::root/docs/openapi.yaml");
plan skip_all => 'python3 with yaml and jsonschema is not installed'
    if system('python3 -W ignore -c "import yaml, jsonschema; jsonschema.Draft202012Validator" 2>/dev/null') != 0;

my @limits = ({name => 'default', capacity => 1000000, rate => '1/h', default => 'true'},
              {name => 'five', capacity => 5, rate => '1/m', overshoot => 0});
my $cluster = Headgate::cluster(regions => ['here'], limits => \@limits, listen_http => 1);
my $daemon = $cluster->daemon('here')->spawn;
ok(Headgate::wait_until(20, sub { eval { Http::connect($daemon)->get('/readyz')->{status} == 200 } }),
   'the daemon is ready');

my ($status, $listed) = Headgate::run(60, @python);
my %described = map { $_ => 1 } split /\n/, $listed;
cmp_ok(scalar keys %described, '>', 20, 'operations are described');

# The paths with something in the place of their names.
sub target { return $_[0] =~ s/\{service\}/shop/r =~ s/\{rule\}/per-user/r =~ s/\{path\}/a\/b/r }

subtest 'methods' => sub {
    my %paths = map { /^\S+ (.*)/ ? ($1 => 1) : () } keys %described;
    for my $path (sort keys %paths) {
        for my $method (qw(GET POST PUT DELETE)) {
            next if $path eq '/v1/live' && $method eq 'GET';
            my $answer = Http::connect($daemon)->request($method, target($path), '', 'Content-Type: text/plain');
            my $refused = $answer->{status} == 405 || ($answer->{json}{detail} // '') =~ /there is no such path/;
            is($refused ? 0 : 1, $described{"$method $path"} ? 1 : 0,
               "$method $path is " . ($described{"$method $path"} ? 'served' : 'not served'));
        }
    }
};

subtest 'paths' => sub {
    my @routes = Headgate::read_file("$Headgate::root/src/http/routes.c") =~ m/^\s+\{"([^"]+)",/mg;
    cmp_ok(scalar @routes, '>', 15, 'paths of the server');
    for my $route (@routes) {
        my @found = grep { /^\S+ \Q$route\E(?:$|(?<=\/)\{)/ } keys %described;
        cmp_ok(scalar @found, '>', 0, "$route is described");
    }
};

my @seen;

sub ask {
    my ($method, $target, $body, @lines) = @_;
    push @lines, 'Content-Type: application/json' if defined $body;
    my $answer = Http::connect($daemon)->request($method, $target, defined $body ? encode_json($body) : undef, @lines);
    push @seen, {method => $method, path => $target =~ s/\?.*//r, status => 0 + $answer->{status},
                 type => $answer->{head}{'content-type'}, request => $body, response => $answer->{json}};
    return $answer;
}

subtest 'answers' => sub {
    my $asks = {identifiers => {user => 'ann'}, rule => 'five', cost => 2};
    ask('POST', '/v1/check', $asks) for 1 .. 3;
    ask('POST', '/v1/check', {%$asks, verbose => JSON::PP::true, priority => 'low', tier => 'pro', endpoint => '/x'});
    ask('POST', '/v1/check', [$asks, {identifiers => {ip => '1.2.3.4', user => 7}, idempotency_key => 'a'}]);
    ask('POST', '/v1/check', {%$asks, cost => 'many'});
    ask('POST', '/v1/check', {identifiers => {user => 'key'}, cost => $_}, 'Idempotency-Key: k') for 1, 1, 2;
    ask('POST', '/v1/peek', $asks);
    ask('POST', '/v1/refund', $asks);
    ask('POST', '/v1/reset', {identifiers => {user => 'ann'}, rule => 'five'});
    my $id = ask('POST', '/v1/reserve', {%$asks, ttl_ms => 60000})->{json}{reservation};
    ask('POST', '/v1/reserve', {%$asks, ttl_ms => 60000, cost => 5});
    ask('POST', '/v1/renew', {reservation => $id, ttl_ms => 70000});
    ask('POST', '/v1/commit', {reservation => $id, cost => 1}) for 1, 2;
    ask('POST', '/v1/cancel', {reservation => $id});
    ask('GET', '/check?user=bob&rule=five&denied=403') for 1 .. 6;
    ask('GET', '/check?user=bob&rule=five');
    ask('GET', '/check');
    ask('DELETE', '/check/a/b');
    my $path = '/v1/rules/shop/per-user';
    my $rule = {by => ['ip', 'user'], rate => '10/m', burst => 20, overshoot => 30, endpoint => '/v1/*',
                mode => 'shadow',
                priority_floor => {low => '50%'}, tiers => {free => '5/m'}, persist => JSON::PP::true,
                overrides => [{for => 'user=vip', amount => '100/m', until => '2030-01-01'}], deny => ['ip=10.0.0.1'],
                allow => ['user=root'], adaptive => {floor => '10%', latency => '50ms'}, inherit => 'reset',
                on_isolation => 'closed'};
    ask('PUT', "$path?dry_run=true", $rule);
    ask('PUT', $path, $rule) for 1, 2;
    ask('PUT', $path, $rule, 'If-None-Match: *');
    ask('PUT', $path, {rate => '7'});
    ask('PUT', '/v1/rules/shop/quota', {algorithm => 'quota', limit => 100, window => 'day', zone => 'Europe/Berlin',
                                        tiers => {free => 5}, sync => 'budget'});
    my $read = ask('GET', $path);
    ask('GET', $path, undef, "If-None-Match: $read->{head}{etag}");
    my $all = ask('GET', '/v1/rules');
    ask('GET', '/v1/rules/shop');
    ask('POST', '/v1/rules', $all->{json});
    ask('POST', '/v1/check', {service_id => 'shop', identifiers => {ip => '1.1.1.1', user => 'eve'},
                              endpoint => '/v1/a', verbose => JSON::PP::true});
    ask('GET', '/v1/explain?user=bob&rule=five');
    ask('GET', '/v1/explain?user=eve&ip=1.1.1.1&service_id=shop&endpoint=/v1/a');
    ask('GET', '/v1/explain?user=eve&ip=1.1.1.1');
    ask('GET', '/v1/explain?user=eve&ip=10.0.0.1&service_id=shop&endpoint=/v1/a');
    ask('GET', '/v1/explain');
    ask('GET', '/v1/nodes');
    ask('GET', '/v1/weights');
    ask('POST', '/v1/weights', {weights => $_}) for {mars => 0.1}, {$daemon->{name} => 1};
    ok(Headgate::wait_until(20, sub { @{Http::connect($daemon)->get('/v1/hot')->{json}{rules}} > 0 }), 'keys are hot');
    ask('GET', '/v1/hot');
    ask('DELETE', "$path?dry_run=true");
    ask('DELETE', $path) for 1, 2;
    ask('GET', $_) for qw(/healthz /readyz /metrics);
    ask('HEAD', '/v1/nodes');
    my %reached = map { $_->{status} => 1 } @seen;
    ok($reached{$_}, "an answer with $_") for 200, 201, 304, 400, 403, 404, 412, 422, 429;
    my $file = Headgate::write_file(Headgate::scratch() . '/seen.json', encode_json(\@seen));
    my ($code, $faults) = Headgate::run(60, @python, $file);
    is($faults, '', 'every answer is as it is described: ' . @seen);
    is($code, 0, 'all were looked at');
    my @wrong = ({method => 'GET', path => '/v1/nodes', status => 200, type => 'application/json', request => undef,
                  response => {node => 'a', surprise => 1}},
                 {method => 'PATCH', path => '/v1/nodes', status => 200, type => 'application/json', request => undef,
                  response => {}},
                 {method => 'GET', path => '/v1/rules', status => 202, type => 'application/json', request => undef,
                  response => {rules => []}});
    $file = Headgate::write_file(Headgate::scratch() . '/wrong.json', encode_json(\@wrong));
    ($code, $faults) = Headgate::run(60, @python, $file);
    like($faults, qr/'surprise' was unexpected/, 'a member that is not described would be found');
    like($faults, qr{PATCH /v1/nodes -> 200: it is not described}, 'and a method');
    like($faults, qr{the status 202 is not described}, 'and a status');
};

ok($cluster->stop, 'the daemon ends in peace');
done_testing();
