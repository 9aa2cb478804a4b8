#!/usr/bin/perl
# GET /v1/live: one event a second, for as many readers as there may be, whatever these do.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Http;
use IO::Socket::INET;
use JSON::PP qw(decode_json);
use Test::More;

use constant {READERS_MAX => 32, ADDRESS_READERS => 16};

my @limits = ({name => 'default', capacity => 5, rate => '1/h', overshoot => 3, default => 'true'});

# A client at another address of this machine.
sub http_from {
    my ($daemon, $address) = @_;
    my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $daemon->{ports}{http}, Timeout => 30,
                                       LocalAddr => $address) or die "no connection: $@";
    binmode $socket;
    return bless {socket => $socket, buffer => '', seconds => 10 * $Headgate::patience}, 'Http';
}

# A reader of events: the head is read, and says that they come.
# A daemon may close who has connected and is too slow to say something: that one comes again.
sub patiently {
    my ($attempt) = @_;
    my $client;
    Headgate::wait_until(10, sub { $client = eval { $attempt->() } });
    return $client // die $@;
}

sub reader {
    my ($daemon, @lines) = @_;
    return patiently(sub { reads(Http::connect($daemon), @lines) });
}

sub reads {
    my ($client, @lines) = @_;
    $client->send_raw(join("\r\n", 'GET /v1/live HTTP/1.1', 'Host: here', @lines) . "\r\n\r\n");
    $client->need while $client->{buffer} !~ /\r\n\r\n/;
    $client->{buffer} =~ s/^(.*?\r\n)\r\n//s;
    $client->{head} = $1;
    return $client;
}

# With as many of 127.0.0.1 as that address may have: readers of other addresses, until there is no place.
sub others {
    my ($daemon, @lines) = @_;
    return map {
        my $end = $_->[0];
        map { patiently(sub { reads(http_from($daemon, "127.0.0.$end"), @lines) }) } 1 .. $_->[1]
    }
        [2, 8], [3, 4], [4, 2], [5, 1], [6, 1];
}

sub next_event {
    my ($client) = @_;
    $client->need while $client->{buffer} !~ /\n\n/;
    $client->{buffer} =~ s/^data: (.*?)\n\n//s or die "no event: $client->{buffer}";
    return decode_json($1);
}

# The first event that is as `wanted` says.
sub event_until {
    my ($client, $wanted) = @_;
    my $event;
    return Headgate::wait_until(60, sub { $event = next_event($client); $wanted->($event) }) ? $event : undef;
}

sub peer_of {
    my ($event, $name) = @_;
    my ($peer) = grep { $_->{name} eq $name } @{$event->{peers}};
    return $peer;
}

sub rule_of {
    my ($event, $id) = @_;
    my ($rule) = grep { $_->{rule} eq $id } @{$event->{rules}};
    return $rule;
}

sub readers_now { return $_[0]->client->fields('INFO', 'clients')->{http_live} }

my $cluster = Headgate::cluster(limits => \@limits, listen_http => 1, interval => '20ms')->start;
$cluster->wait_met(60) or die 'the daemons did not meet';
my $daemon = $cluster->daemon('us-east');
my $rule = '{id: two, service: shop, by: user, rate: 1/h, burst: 6, overshoot: 2}';
is($daemon->client->command('RULE', 'SET', "rules: [$rule]"), 'OK', 'a rule');

subtest 'what an event says' => sub {
    my $reader = reader($daemon);
    like($reader->{head}, qr{^HTTP/1\.1 200 OK\r\n.*^Content-Type: text/event-stream\r\n}ms, 'events');
    unlike($reader->{head}, qr/^Content-Length/m, 'without an end');
    my $event = next_event($reader);
    is_deeply([@{$event}{qw(node region state config)}], ['us-east', 'us-east', 'active', 'same'], 'of this daemon');
    is_deeply([map { "$_->{name} $_->{state} $_->{share}" } sort { $a->{name} cmp $b->{name} } @{$event->{peers}}],
              ['ap-south active 0.333', 'eu-west active 0.333', 'us-east active 0.334'], 'and of all peers');
    is_deeply([grep { !defined $_->{heard_ms} } @{$event->{peers}}], [], 'which were heard');
    is_deeply($event->{bounds},
              [{service => '', rule => 'default', limit => 5, overshoot => 3, worst_debt => 0},
               {service => 'shop', rule => 'two', limit => 6, overshoot => 2, worst_debt => 0}], 'the declared bounds');
    is_deeply(rule_of($event, 'two'),
              {service => "shop", rule => "two",
               allowed => 0, denied => 0, shadow_denied => 0, over_limit => 0}, 'and counts');
    is_deeply([@{$event}{qw(bounds_left_out rules_left_out)}], [0, 0], 'nothing is left out');
    my $client = $daemon->client;
    $client->command('CHECK', 'user=ann', 'SERVICE', 'shop') for 1 .. 20;
    $event = event_until($reader, sub { my $rule = rule_of($_[0], 'two'); $rule->{allowed} + $rule->{denied} == 20 });
    ok($event, 'decisions are counted by rule');
    ok($event && $event->{refused_requests} >= 12, 'and in all');
};

subtest 'a trial' => sub {
    my $reader = reader($daemon);
    my $client = $daemon->client;
    my $other = $rule =~ s{1/h}{2/h}r;
    is($client->command('RULE', 'APPLY', "rules: [$other]", 'CANARY', '50%'), 1, 'a version on trial');
    my $event = event_until($reader, sub { rule_of($_[0], 'two')->{canary} });
    is_deeply($event && rule_of($event, 'two')->{canary}, {share_millionths => 500_000, allowed => 0, denied => 0,
        stable_allowed => 0, stable_denied => 0}, 'is in the events');
    $client->command('CHECK', "user=try-$_", 'SERVICE', 'shop') for 1 .. 40;
    $event = event_until($reader, sub {
        my $canary = rule_of($_[0], 'two')->{canary};
        return $canary->{allowed} + $canary->{stable_allowed} == 40;
    });
    ok($event && rule_of($event, 'two')->{canary}{allowed} > 0, 'with what both versions decided');
};

subtest 'a peer that stands still' => sub {
    my $reader = reader($daemon);
    my $peer = $cluster->daemon('ap-south')->signal('STOP');
    my $silent = event_until($reader, sub {
        peer_of($_[0], 'ap-south')->{state} eq 'silent' && peer_of($_[0], 'eu-west')->{state} eq 'active';
    });
    ok($silent, 'becomes silent in the events, alone');
    $peer->signal('CONT');
    ok(event_until($reader, sub { peer_of($_[0], 'ap-south')->{state} eq 'active' }), 'and comes back');
};

subtest 'readers' => sub {
    ok(Headgate::wait_until(60, sub { readers_now($daemon) == 0 }), 'readers that went away are forgotten');
    my @readers = map { reader($daemon) } 1 .. ADDRESS_READERS;
    my $answer = Http::connect($daemon)->get('/v1/live');
    is($answer->{status}, 503, 'one more of that address is refused');
    like($answer->{json}{detail}, qr{^16 of 16 connections that read /v1/live have this address}, 'with the reason');
    is($answer->{head}{'retry-after'}, 5, 'and when to come again');
    push @readers, others($daemon);
    is(readers_now($daemon), READERS_MAX, 'as many as there may be');
    $answer = http_from($daemon, '127.0.0.9')->get('/v1/live');
    is($answer->{status}, 503, 'one more is refused');
    like($answer->{json}{detail}, qr/^32 connections read/, 'with the reason');
    is(Http::connect($daemon)->get('/healthz')->{status}, 200, 'other paths answer');
    next_event($_), next_event($_) for @readers;
    pass('each gets events');
    $readers[0]->close;
    ok(Headgate::wait_until(60, sub { readers_now($daemon) == READERS_MAX - 1 }), 'one goes');
    next_event(reads(http_from($daemon, '127.0.0.9')));
    pass('another one comes');
};

subtest 'a reader that says more' => sub {
    ok(Headgate::wait_until(60, sub { readers_now($daemon) == 0 }), 'all readers went away');
    my $reader = reader($daemon);
    $reader->send_raw("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    next_event($reader) for 1 .. 3;
    pass('gets events and nothing else');
};

subtest 'HEAD and other methods' => sub {
    my $client = Http::connect($daemon);
    my $head = $client->request('HEAD', '/v1/live')->{head};
    is($head->{'content-type'}, 'text/event-stream', 'HEAD ends');
    ok(!exists $head->{'content-length'}, '... and tells no length, as GET tells none');
    is($client->request('DELETE', '/v1/live')->{status}, 405, 'DELETE is refused');
};

my @open = map { reader($daemon) } 1 .. 3;
ok($cluster->stop(60), 'daemons end in peace while readers are connected');
ok(!(grep { Headgate::wait_until(60, sub { !eval { next_event($_); 1 } }) ? 0 : 1 } @open), 'and so do the events');

subtest 'the password' => sub {
    my $alone = Headgate::cluster(regions => ['here'], limits => \@limits, listen_http => 1, password => 'swordfish',
                                  threads => 2, clients => {auth_timeout => '1s', idle_timeout => '1s'});
    my $guarded = $alone->daemon('here')->spawn;
    ok(Headgate::wait_until(60, sub { eval { Http::connect($guarded)->get('/readyz')->{status} == 200 } }), 'ready');
    my $nobody = patiently(sub { Http::connect($guarded)->get('/v1/live') });
    is($nobody->{status}, 401, 'must be said');
    my $reader = reader($guarded, 'Authorization: Bearer swordfish');
    my ($first, $last) = (next_event($reader));
    $last = next_event($reader) for 1 .. 4;
    cmp_ok($last->{uptime_ms} - $first->{uptime_ms}, '>', 2000,
           'a reader is no silent client: deadlines of those do not end its events');
    my @readers = map { reader($guarded, 'Authorization: Bearer swordfish') } 2 .. ADDRESS_READERS;
    push @readers, others($guarded, 'Authorization: Bearer swordfish');
    my $more = patiently(sub {
        http_from($guarded, '127.0.0.9')->get('/v1/live', 'Authorization: Bearer swordfish');
    });
    is($more->{status}, 503, 'all threads have one bound');
    ok($alone->stop(60), 'the daemon ends in peace');
};

done_testing();
