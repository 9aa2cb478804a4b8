#!/usr/bin/perl
# Clients that say nothing, or the wrong thing: deadlines, wrong passwords, and room for others.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use IO::Select;
use IO::Socket::INET;
use Test::More;
use Time::HiRes qw(time);

my @limits = ({name => 'default', capacity => 1000, rate => '1/h', default => 'true'});

sub counts { my ($client) = @_; return $client->fields('INFO', 'clients') }

subtest 'deadlines' => sub {
    my $cluster = Headgate::cluster(regions => ['here'], limits => \@limits, password => 'sesame',
                                    clients => {request_timeout => '1s', auth_timeout => '2s', idle_timeout => '2s'});
    my $daemon = $cluster->daemon('here')->spawn;
    my $client;
    ok(Headgate::wait_until(10, sub { $client = eval { $daemon->client } }), 'the daemon listens');
    is($client->command('AUTH', 'sesame'), 'OK', 'one with the password');
    my ($half, $nobody, $idle) = map { $daemon->client } 1 .. 3;
    is($_->command('AUTH', 'sesame'), 'OK', 'and others') for $half, $idle;
    $half->send_raw("*2\r\n\$10\r\nCAN_ACC");
    my $ends = sub {
        my ($other, $seconds) = @_;
        return Headgate::wait_until($seconds, sub {
            $client->command('PING');
            return IO::Select->new($other->{socket})->can_read(0.05);
        });
    };
    ok($ends->($half, 10), 'half a request ends');
    like($half->reply, qr/^ERR the request is not whole after clients.request_timeout/, 'with a word');
    ok($half->closed, 'and the connection');
    ok($ends->($nobody, 10), 'so does one without a password');
    like($nobody->reply, qr/^NOAUTH no password came within clients.auth_timeout/, 'with a word');
    ok($nobody->closed, 'and the connection');
    ok($ends->($idle, 10) && $idle->closed, 'and one that says nothing');
    my $counts = counts($client);
    is_deeply([@{$counts}{qw(closed_unfinished closed_strangers closed_idle)}], [1, 1, 1], 'each is counted');
    ok($cluster->stop, 'the daemon ends in peace');
};

subtest 'wrong passwords' => sub {
    my $cluster = Headgate::cluster(regions => ['here'], limits => \@limits, password => 'sesame', threads => 1,
                                    clients => {auth_timeout => '5m'}); # a slow guess is no silence
    my $daemon = $cluster->daemon('here')->spawn;
    my $client;
    ok(Headgate::wait_until(10, sub { $client = eval { $daemon->client } }), 'the daemon listens');
    is($client->command('AUTH', 'sesame'), 'OK', 'the right one is answered at once');
    my $guesser = $daemon->client;
    my $begun = time;
    $guesser->send_raw(Headgate::Client::encode('AUTH', "guess$_")) for 1 .. 20;
    is($client->command('PING'), 'PONG', 'others are served while the answer waits');
    my $is_there = IO::Select->new($guesser->{socket})->can_read(0);
    ok(!$is_there || time - $begun >= 0.5, 'it does wait');
    like($guesser->reply, qr/^WRONGPASS/, 'wrong') for 1 .. 5;
    cmp_ok(time - $begun, '>=', 3.5, 'five guesses take their time');
    ok($guesser->closed, 'then it is closed');
    is(counts($client)->{auth_failures}, 5, 'five guesses of twenty were looked at');
    my @lines = $daemon->log =~ /wrong password from 127\.0\.0\.1:\d+/g;
    is(scalar @lines, 1, 'one line tells of them');
    my @many = map { $daemon->client } 1 .. 200;
    $_->send_raw(Headgate::Client::encode('AUTH', 'guess') x 5) for @many;
    is($client->command('PING'), 'PONG', 'many who guess hold nobody up');
    my $again = $daemon->client;
    my $answer = eval { $again->command('AUTH', 'sesame') } // "$@";
    like("$answer", qr/^WRONGPASS too many wrong passwords came from this address: none is looked at for \d+ ms$/,
         'who reconnects gains nothing: the address is barred');
    ok($again->closed, 'and the connection closed');
    cmp_ok(counts($client)->{auth_barred}, '>=', 100, 'INFO counts what was not looked at');
    my @barred = $daemon->log =~ /too many wrong passwords from 127\.0\.0\.1:\d+: one in 10 s /g;
    is(scalar @barred, 1, 'one line says it');
    ok($cluster->stop, 'the daemon ends in peace');
};

subtest 'room for others' => sub {
    my $cluster = Headgate::cluster(regions => ['here'], limits => \@limits, max_connections => 20, threads => 1);
    my $daemon = $cluster->start->daemon('here');
    my $client = $daemon->client;
    is($client->command('CAN_ACCESS', 'ann'), 1, 'one that asks');
    my @silent = map { $daemon->client } 1 .. 19;
    my @new;
    for my $i (1 .. 19) {
        my $new = Headgate::wait_until(20, sub {
            my $try = $daemon->client;
            my $answer = eval { $try->command('PING') } // '';
            return "$answer" eq 'PONG' ? $try : 0;
        });
        push @new, $new or last;
    }
    is(scalar(grep { $_ } @new), 19, 'nineteen silent ones make room for others');
    is($client->command('CAN_ACCESS', 'ann'), 1, 'not the one that asked');
    cmp_ok(counts($client)->{closed_for_room}, '>=', 19, 'which is counted');
    ok($cluster->stop, 'the daemon ends in peace');
};

subtest 'slow handshakes of one address' => sub {
    my $dir = Headgate::scratch() . '/certs';
    is((Headgate::run(10, Headgate::headgate(), 'certs', '--dir', $dir, qw(here localhost)))[0], 0, 'a certificate');
    my ($port) = Headgate::free_ports(1);
    my $cluster = Headgate::cluster(regions => ['here'], limits => \@limits, max_connections => 60, threads => 1,
                                    clients => {request_timeout => '5m'}, # however slow the machine is
                                    tls => {certificate => "$dir/here.pem", key => "$dir/here.key"});
    my $daemon = $cluster->daemon('here');
    $daemon->{settings}{listen}{clients_tls} = "127.0.0.1:$port";
    $daemon->write_config->spawn;
    ok(Headgate::wait_until(10, sub { eval { $daemon->client->command('PING') eq 'PONG' } }), 'a daemon');
    my $client = $daemon->client;
    is($client->command('CAN_ACCESS', 'ann'), 1, 'one that asks');
    my $dial = sub {
        my ($from) = @_;
        return IO::Socket::INET->new(LocalAddr => $from, PeerAddr => '127.0.0.1', PeerPort => $port) // die "dial: $!";
    };
    # The first bytes of a handshake that goes no further.
    my @slow = map { $dial->('127.0.0.9') } 1 .. 59;
    print {$_} "\x16\x03\x01\x02" for @slow;
    ok(Headgate::wait_until(10, sub { counts($client)->{connected_clients} == 60 }), 'one address has all the places');
    my $patient = $dial->('127.0.0.5');
    print {$patient} "\x16\x03\x01\x02";
    ok(Headgate::wait_until(10, sub { counts($client)->{closed_crowds} == 1 }), 'another one gets a place at once');
    push @slow, $dial->('127.0.0.9') for 1 .. 100;
    ok(Headgate::wait_until(30, sub { counts($client)->{closed_crowds} == 101 }),
       'newcomers take the places of others of their address');
    vec(my $ready = '', fileno $patient, 1) = 1;
    is(scalar select($ready, undef, undef, 0), 0, 'which it keeps, while the first makes handshakes without end');
    my (undef, $out) = Headgate::run(10, 'sh', '-c', "openssl s_client -connect 127.0.0.1:$port </dev/null 2>&1");
    like($out, qr/^-----BEGIN CERTIFICATE-----$/m, 'a whole handshake from elsewhere succeeds');
    ok($cluster->stop, 'the daemon ends in peace');
};

subtest 'thousands that say nothing' => sub {
    # This process needs a descriptor for each of them as well, and for some hundred that make room.
    my $places = Headgate::places(3500) - 500;
    my $cluster = Headgate::cluster(max_connections => $places, leave_timeout => '200ms');
    $cluster->start;
    ok($cluster->wait_met(10), 'three daemons see each other');
    my $daemon = ($cluster->daemons)[0];
    my ($client, @silent) = ($daemon->client);
    is($client->command('PING'), 'PONG', 'one that asks');
    push @silent, $daemon->client for 1 .. $places - 1;
    my $enters = sub {
        my $try = $daemon->client;
        my $answer = eval { $try->command('CAN_ACCESS', 'ann') } // '';
        return "$answer" eq '1' ? $try : 0;
    };
    # Those who have just come are given time to ask, so that there is room only a moment later.
    my $new = Headgate::wait_until(20, $enters);
    ok($new, "a new client gets in among $places") or return $cluster->stop;
    # One who comes while all others have come just now is refused, so that no number of newcomers is enough: time is.
    my $made_room = Headgate::wait_until(30, sub {
        push @silent, $daemon->client;
        $_->command('PING') for $client, $new;
        return counts($new)->{closed_for_room} >= 200;
    });
    ok($made_room, 'silent ones made room');
    is($client->command('CAN_ACCESS', 'ann'), 1, 'one that asks now and then stays');
    is(counts($new)->{accept_failures}, 0, 'there were descriptors for all');
    my $peers_met = Headgate::wait_until(10, sub {
        my $info = $new->fields('INFO', 'cluster');
        return 3 == grep { /^peer_/ && $info->{$_} =~ /state=active,/ } keys %{$info};
    });
    ok($peers_met, 'and for peers');
    undef @silent;
    ok($cluster->stop(15), 'the daemons end in peace');
};

done_testing();
