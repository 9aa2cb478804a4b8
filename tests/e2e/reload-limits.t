#!/usr/bin/perl
# A reload takes over the limits of the config: of one daemon alone while clients ask, and of three daemons, of which
# the first that reloads changes the limits of all. Keys keep what they have spent; a mistake changes nothing.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Http;
use POSIX ();
use Test::More;

sub limit { my ($capacity, %more) = @_; return {name => 'default', capacity => $capacity, default => 'true', %more} }
sub capacity {
    my ($daemon) = @_;
    return $daemon->client->fields('INFO', 'limits')->{limit_default} =~ /capacity=(\d+)/ ? $1 : undef;
}
sub give {
    my ($daemon, @limits) = @_;
    $daemon->{settings}{limits} = [@limits];
    return $daemon->write_config;
}
sub allowed {
    my ($client, $key, $count) = @_;
    return scalar grep { $_ eq 1 } $client->pipeline(map { ['CAN_ACCESS', $key] } 1 .. $count);
}

subtest 'one daemon alone' => sub {
    my $daemon = Headgate::cluster(regions => ['here'], listen_http => 1, threads => 2,
                                   limits => [limit(1_000_000, rate => '1/h')])->daemon('here');
    $daemon->start;
    my $client = $daemon->client;
    my @clients = map { $daemon->client } 1 .. 8;
    my ($asked, $given) = (0, 0);
    for my $round (1 .. 10) {
        give($daemon, limit(1_000_000 + $round, rate => '1/h', overshoot => $round))->signal('HUP');
        Headgate::wait_until(10, sub {
            $given += allowed($_, "key $round", 50) for @clients;
            $asked += 50 * @clients;
            return capacity($daemon) == 1_000_000 + $round;
        }) or return fail("round $round");
    }
    is($given, $asked, "all $asked requests were admitted, on connections that stay");
    my $info = $client->fields('INFO', 'limits');
    is_deeply([@$info{qw(limits_version limits_author limits_file_differs)}], [10, 'here', 0], 'ten versions');

    is(allowed($client, 'ann', 30), 30, 'ann spends 30');
    give($daemon, limit(50, rate => '1/h'), {name => 'more', capacity => 7, rate => '1/h'});
    is_deeply([@{$client->command('RELOAD')}[0 .. 3]], ['changed', ['limits'], 'needs_restart', []], 'by a command');
    is(allowed($client, 'ann', 60), 20, 'of 50 she has 20 left');
    is(allowed($client, 'bob', 60), 50, 'bob has all');
    like(Http::connect($daemon)->get('/metrics')->{body}, qr/^headgate_limit_capacity_tokens\{limit="more"\} 7$/m,
         'a new limit is in the metrics');
    give($daemon, limit(40, rate => '1/h'));
    like(Http::connect($daemon)->post('/v1/reload', '')->{body}, qr/"changed":\["limits"\],"needs_restart":\[\]/,
         'over HTTP');
    is(capacity($daemon), 40, 'it is in force');

    give($daemon, limit(30, rate => '1/h'), {name => 'bad', capacity => 0, rate => '1/h'});
    $daemon->{settings}{log_level} = 'debug';
    $daemon->write_config;
    like('' . $client->command('RELOAD'), qr/^ERR \Q$daemon->{config}\E:\d+: limits\[1\]\.capacity is '0': expected/,
         'a mistake is refused with its line');
    is(capacity($daemon), 40, 'and changes nothing');
    delete $daemon->{settings}{log_level};

    give($daemon, limit(40, rate => '1/h'))->stop;
    $daemon->start;
    is($daemon->client->fields('INFO', 'limits')->{limits_version}, 12, 'a restart has the same version');
    $daemon->stop;
    give($daemon, limit(60, rate => '1/h'))->start;
    is(capacity($daemon), 60, 'a file that has changed meanwhile counts');
    is($daemon->stop, 0, 'it ends');
};

subtest 'three daemons' => sub {
    my %first = (rate => '100/s', overshoot => 0);
    my $cluster = Headgate::cluster(interval => '50ms', limits => [limit(100, %first)])->start;
    ok($cluster->wait_met(20), 'three daemons');
    my @daemons = $cluster->daemons;
    my $to = join ',', map { "127.0.0.1:$_->{ports}{clients}" } @daemons;
    my $out = Headgate::scratch() . '/load';
    my @load = (Headgate::headgate(), 'load', '--to', $to, '--rate', '600', '--expect-bound', '--seconds');
    my $load = Headgate::spawn($out, $out, @load, '6');
    my $commands = sub { $daemons[2]->client->fields('INFO')->{total_commands_processed} };
    ok(Headgate::wait_until(10, sub { $commands->() > 100 }), 'clients ask');

    my %next = (rate => '50/s', overshoot => 0);
    give($daemons[0], limit(50, %next))->signal('HUP');
    ok(Headgate::wait_until(10, sub { !grep { capacity($_) != 50 } @daemons }), 'one reload is for all');
    ok(Headgate::wait_until(10, sub {
        $daemons[1]->log =~ / warning \S+: the limits of this file are not in force: limits 1 are, which \S+ has read/
    }), 'who has another file says so');
    my $answer = {@{$daemons[1]->client->command('RELOAD')}};
    like($answer->{limits_differ}, qr/^the limits of this file are not in force: limits 1 are, which \S+ has read from/,
         'a reload says so as well');
    my $at = "127.0.0.1:$daemons[1]{ports}{clients}";
    my ($told, $says) = Headgate::run(20, Headgate::headgate(), 'reload', '--at', $at);
    like("$told $says", qr/^0 .*^the limits of this file are not in force: limits 1 are, .*^nothing has changed /ms,
         'and so does the command');
    for my $daemon (@daemons[1, 2]) {
        give($daemon, limit(50, %next))->signal('HUP');
        ok(Headgate::wait_until(10, sub { !$daemon->client->fields('INFO', 'limits')->{limits_file_differs} }),
           "$daemon->{name} has the same then");
    }
    is_deeply([map { $_->client->fields('INFO', 'limits')->{limits_version} } @daemons], [1, 1, 1], 'as one version');
    ok(Headgate::wait_until(20, sub { waitpid($load, POSIX::WNOHANG()) == $load }), 'the load ends');
    is($?, 0, 'the bound held all the time') or diag(Headgate::read_file($out));
    delete $Headgate::running{$load};
    my ($status) = Headgate::run(20, @load, '2');
    is($status, 0, 'the bound of the new limits holds') or diag(Headgate::read_file($out));

    $daemons[1]->stop;
    $daemons[1]->start;
    ok($cluster->wait_met(20), 'one starts again with the new list');
    is(capacity($daemons[1]), 50, 'which is in force');
    is(scalar(grep { $_->log =~ / decides nothing/ } @daemons), 0, 'nobody stood aside');
    $daemons[2]->stop;
    give($daemons[2], limit(51, %next))->start;
    ok(Headgate::wait_until(20, sub { $daemons[2]->log =~ / decides nothing: its limits/ }),
       'who starts with a list that nobody has read decides nothing');
    $cluster->stop;
};

done_testing;
