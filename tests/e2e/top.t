#!/usr/bin/perl
# headgate top: in a terminal, in a pipe, for programs, and what it says of wrong words and daemons that are away.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use JSON::PP qw(decode_json);
use Test::More;

my $cluster = Headgate::cluster(interval => '100ms')->start(60);
$cluster->wait_met(120) or die 'the daemons did not meet';
my ($daemon, undef, $peer) = $cluster->daemons;
my $at = "127.0.0.1:$daemon->{ports}{clients}";
my $rules = 'rules: [{id: login, service: shop, by: user, rate: 1/d, burst: 20}]';
is($daemon->client->command('RULE', 'SET', $rules), 'OK', 'a rule');
$daemon->client->command('CHECK', 'user=ann', 'SERVICE', 'shop') for 1 .. 50;

sub headgate { return Headgate::run(120, Headgate::headgate(), @_) }

my ($status, $out, $err) = headgate('top', '--at', $at);
is($status, 0, 'in a pipe it looks once');
like($out, qr/^headgate \d+\.\d+\.\d+(?:-dev)?  us-east \(us-east\)  active, holds 33\.4%/, 'who answers');
like($out, qr/^ap-south +ap-south +active +33\.30% /m, 'each peer');
like($out, qr/^PEER .* LOG  CLOCK +CONFIG$/m, 'with its clock');
like($out, qr/^ap-south .* \d+  (?:-|good) +same$/m, 'which is not measured yet, or good');
my ($allowed, $denied) = $out =~ m{^shop/login +0\.0 +0\.0 +0\.0 +(\d+) +(\d+)$}m;
is(($allowed // 0) + ($denied // 0), 50, 'each rule with its decisions');

($status, $out) = headgate('top', '--at', $at, 'count', '3', 'interval', '100ms', '--json');
my @looks = map { decode_json($_) } split /\n/, $out;
is_deeply([$status, scalar @looks], [0, 3], 'for programs, a line for each look');
is_deeply([@{$looks[0]}{qw(node region state)}, $looks[0]{admitted_per_s}], ['us-east', 'us-east', 'active', undef],
          'the first has no figures a second');
ok((!grep { !defined $_->{admitted_per_s} || !defined $_->{refused_per_s} } @looks[1, 2]), 'the others do');
is_deeply([sort map { $_->{name} } @{$looks[2]{peers}}], [qw(ap-south eu-west us-east)], 'with all peers');
is_deeply([grep { $_->{clock} !~ /^(?:unmeasured|good)$/ || $_->{clock_jumps} ne '0' || !exists $_->{clock_rate} }
           @{$looks[2]{peers}}], [], 'and their clocks');
is_deeply([map { "$_->{rule} " . ($_->{allowed} + $_->{denied}) } @{$looks[2]{rules}}], ['shop/login 50'], 'and rules');

($status, $out) = headgate('top', '--at', $at, '--json');
is_deeply([$status, scalar(() = $out =~ /\n/g)], [0, 1], 'one look, if nothing says how many');
($status, $out) = Headgate::run(30, 'sh', '-c', '"$0" top --at "$1" interval 100ms --json | head -n 3',
                                Headgate::headgate(), $at);
is_deeply([$status, scalar(() = $out =~ /\n/g)], [0, 3], 'an interval alone: until nobody reads any more');
($status, $out) = Headgate::run(30, 'sh', '-c', '"$0" top --at "$1" interval 100ms | grep -m 2 "^headgate "',
                                Headgate::headgate(), $at);
is_deeply([$status, scalar(() = $out =~ /\n/g)], [0, 2], 'the same for people');

for my $case ([['often'], qr/"often nothing": expected interval/], [['interval', '1ms'], qr/from 100ms to 1h/],
              [['count', '0'], qr/"count 0"/],
              [['count'], qr/"count nothing"/], [['count', '1', 'now'], qr/"now nothing"/]) {
    my ($words, $says) = @$case;
    ($status, $out, $err) = headgate('top', '--at', $at, @$words);
    is($status, 64, "top @$words is wrong");
    like($err, $says, 'and says why');
}
is((headgate('top', '--at', '127.0.0.1:1'))[0], 69, 'a daemon that is not there');

SKIP: {
    skip 'no /usr/bin/python3', 1 if !-x '/usr/bin/python3';
    ($status, $out, $err) = Headgate::run(900, '/usr/bin/python3', "$FindBin::Bin/top.py", Headgate::headgate(), $at,
                                          $peer->{pid}, 'ap-south');
    is($out, "fine\n", 'in a terminal') or diag($err);
}
$peer->kill9;
my ($forgot) = Headgate::wait_until(60, sub { $daemon->client->command('FORGET', 'ap-south') =~ /^(OK)/ });
ok($forgot, 'a peer that is gone is forgotten');
like((headgate('top', '--at', $at))[1], qr/^ap-south +ap-south +forgotten +- /m, 'which top tells from one that left');
my $look = decode_json((headgate('top', '--at', $at, 'count', '1', '--json'))[1]);
my ($gone) = grep { $_->{name} eq 'ap-south' } @{$look->{peers}};
is_deeply([@{$gone}{qw(state forgotten)}], ['left', JSON::PP::true], 'for programs as well');
ok($cluster->stop(60), 'the daemons end in peace');
done_testing();
