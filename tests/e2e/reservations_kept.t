#!/usr/bin/perl
# Reservations and leases of a daemon that is alone go on over an orderly restart: they hold what they held, are found
# by the ids that they had, and give back what they hold once. After a crash they end. Those of a daemon with peers:
# reservations_restart.t.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Http;
use Test::More;
use Time::HiRes qw(time);

my @limits = ({name => 'default', capacity => 100, rate => '1/h', default => 'true'});
my $daemon = Headgate::cluster(regions => ['here'], limits => \@limits, listen_http => 1, threads => 2)->daemon('here');
my $file = "$daemon->{state_dir}/headgate.reservations";
my $client;

sub starts {
    $daemon->start;
    $client = $daemon->client;
    ok(Headgate::wait_until(10, sub { $client->command('CHECK', 'probe', 'COST', 0)->[0] }), 'the daemon decides');
    return;
}
my @slots = qw(tenant=acme SERVICE reports ENDPOINT /export);
sub slots { return $client->command('PEEK', @slots)->[2] }
sub slot { return $client->command('RESERVE', @slots, 'TTL', $_[0] // 60000)->[-1] }
sub tokens { return $client->command('PEEK', 'user=ann')->[2] }

starts();
is($client->command('RULE', 'APPLY', Headgate::read_file("$Headgate::root/config/rules/concurrency.yaml")), 1,
   'three places for each tenant');
my @held = map { slot() } 1 .. 2;
my $tokens = $client->command(qw(RESERVE user=ann COST 40 TTL 60000))->[-1];
my $http = Http::connect($daemon)->post('/v1/reserve', '{"identifiers":{"user":"ann"},"cost":20,"ttl_ms":60000}');
my $over_http = $http->{json}{reservation};
ok($over_http, 'reservations by RESP and HTTP');
$client->command(qw(RESERVE user=ann COST 10 TTL 1));
ok(Headgate::wait_until(5, sub { tokens() == 40 }), '60 of 100 tokens are held, when one reservation has ended');
is(slots(), 1, 'and two places of three');

# ---- an orderly restart ----

is($daemon->stop, 0, 'it ends');
is(sprintf('%o', (stat $file)[2] & 07777), '600', 'what it keeps is its own');
my $text = Headgate::read_file($file);
starts();
ok(!-e $file, 'it is used once');
like($daemon->log, qr/ info reservations of before that go on: 4\n/, 'and the log says how many there were');
is(slots() . ' ' . tokens(), '1 40', 'what they hold is held');
my $third = slot();
ok($third, 'the third place is had');
is(slot(), undef, 'and no fourth one');
is($client->command('CANCEL', $held[0]), 1, 'a place is given back by its id');
is($client->command('CANCEL', $held[0]), 0, 'once');
is(slots(), 1, 'so one is free');
is($client->command('RENEW', $held[1], 60000), 1, 'another one goes on');
is($client->command('CHECK', 'user=ann', 'COST', 40)->[0], 1, 'somebody else takes all other tokens');
is($client->command('COMMIT', $tokens, 15), 15, '15 of 40 were used');
is(tokens(), 25, 'the rest comes back, and nothing of others');
is($client->command('COMMIT', $tokens, 15) =~ /^NORESERVATION/ ? 1 : 0, 1, 'once');
is(Http::connect($daemon)->post('/v1/cancel', "{\"reservation\":\"$over_http\"}")->{status}, 200, 'over HTTP as well');
is(tokens(), 45, 'which gives back 20');

# ---- another one, with less time left than it takes ----

my $soon = $client->command(qw(RESERVE user=ann COST 45 TTL 500))->[-1];
is($daemon->stop, 0, 'it ends');
starts();
ok(Headgate::wait_until(10, sub { tokens() == 45 }), 'a reservation whose time is over gives back what it held');
is($client->command('CANCEL', $soon), 0, 'and is no more');
is($client->command('RENEW', $third, 60000), 1, 'a place goes on over two restarts');

# ---- one that ends after the restart: a lease is given to nobody else before its time ----

my $asked;
my $free = sub { $client->command('PEEK', 'tenant=once', @slots[1 .. $#slots])->[2] };
my $held = Headgate::in_time(3, sub { # which a restart may take on a slow machine
    $asked = time;
    $client->command('RESERVE', 'tenant=once', @slots[1 .. $#slots], 'TTL', 3000);
    is($daemon->stop, 0, 'it ends');
    starts();
    return $free->() != 3;
});
ok($held, 'a place is held after the restart');
ok(Headgate::wait_until(10, sub { $free->() == 3 }), 'and comes back');
cmp_ok(time - $asked, '>=', 3, 'when its time is over, and no sooner');

# ---- a crash ----

ok($daemon->kill9 != 0, 'a crash');
starts();
is(slots() . ' ' . tokens(), '3 100', 'nothing is held after it');
is($client->command('CANCEL', $third), 0, 'and nothing is found');
is($client->command('CHECK', 'user=ann', 'COST', 60)->[0], 1, '60 are used');

# ---- files that are of no use ----

my $last = slot();
is($daemon->stop, 0, 'it ends');
Headgate::write_file($file, 'scribbled');
starts();
like($daemon->log, qr/ warning headgate.reservations is of no use \(it is not as this release writes it/,
     'a damaged file');
is(slots() . ' ' . $client->command('CANCEL', $last), '3 0', 'brings nothing back');
ok(!-e $file, 'nor is it read again');

slot();
is($daemon->stop, 0, 'it ends');
$daemon->{settings}{reservations} = 0;
$daemon->write_config;
starts();
like($daemon->log, qr/ warning reservations of before that have no room here: 1; /,
     'a daemon without reservations says so');
is($daemon->stop, 0, 'it ends');
delete $daemon->{settings}{reservations};
$daemon->{settings}{peers} = [{node => 'there', region => 'here', gossip => '127.0.0.1:1', snapshots => '127.0.0.1:2'}];
$daemon->{settings}{join_timeout} = '100ms';
Headgate::write_file($file, $text);
$daemon->write_config->start;
my $go_on = qr/ info reservations of before that go on: 4\n/;
ok(Headgate::wait_until(10, sub { (() = $daemon->log =~ /$go_on/g) == 2 }), 'one that has peers now has them');
ok(!-e $file, 'and the file is gone');
$client = $daemon->client;
ok(Headgate::wait_until(10, sub { $client->command('CHECK', 'probe', 'COST', 0)->[0] }), 'it goes on alone');
is($client->command('CANCEL', $held[1]), 0, 'a place that no peer counts has ended');
is($client->command('COMMIT', $tokens, 15), 15, 'of tokens that nobody counts the used ones are taken');
is(tokens(), 85, 'and nothing comes back');
is($daemon->stop, 0, 'it ends');
ok(!-e $file, 'it keeps none: no peer knows of any');
done_testing();
