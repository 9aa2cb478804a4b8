#!/usr/bin/perl
# Rotation of a daemon's key: its peers follow without an operator, also those that were away, and it outlives a crash.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Test::More;

my @names = ('us-east', 'eu-west', 'ap-south');
sub state_of { return Headgate::scratch() . "/state-$_[0]" }
mkdir state_of($_) for @names;
my $cluster = Headgate::cluster(regions => \@names, interval => '20ms', silent_after => '400ms', join_timeout => '1s',
                                leave_timeout => '200ms', signatures => 'pinned',
                                nodes => {map { $_ => {state_dir => state_of($_)} } @names});
my ($us, $eu, $ap) = map { $cluster->daemon($_) } @names;
sub shown { my (undef, $out) = $_[0]->headgate('key', 'show'); chomp $out; return $out }
sub knows {
    my ($at, $of, $key, $what) = @_;
    ok(Headgate::wait_until(20, sub { ($at->node_of($of->{name})->{key} // '') eq $key }), $what) or diag $at->log;
    return;
}
sub stat_of { my ($daemon, $stat) = @_; return $daemon->client->fields('INFO', 'stats')->{$stat} }
sub rotated { my ($status, $out) = $_[0]->headgate('key', 'rotate'); chomp $out; return $status == 0 ? $out : '' }

# ---- all are there ----

$cluster->start;
ok($cluster->wait_met(20), 'three regions meet');
my $first = shown($us);
knows($_, $us, $first, "$_->{name} knows its key") for $eu, $ap;
my $second = rotated($us);
like($second, qr/^[0-9a-f]{64}$/, 'headgate key rotate prints the new fingerprint') or diag $us->log;
isnt($second, $first, 'which is another one');
is(shown($us), $second, 'and is shown from then on');
knows($_, $us, $second, "$_->{name} takes it") for $eu, $ap;
like($eu->log, qr/us-east has another key, as its former one has signed: $second/, 'and says so');
is($eu->node_of($us->{name})->{state}, 'active', 'nobody was silent for that');
is(stat_of($eu, 'proofs_wrong') + stat_of($eu, 'members_refused'), 0, 'and nothing is wrong');
my $file = Headgate::read_file(state_of('us-east') . '/headgate.key');
like($file, qr/^former: $first$/m, 'the file has the fingerprint of the former key');
is(sprintf('%o', (stat state_of('us-east') . '/headgate.key')[2] & 07777), '600', 'and is its owner\'s alone');
ok(!-e state_of('us-east') . '/headgate.key.new', 'nothing is left beside it');

# ---- a crash, and who was away ----

# What ap-south sends after the next message, it has sent since it knows the key.
my $received = sub { $us->node_of($ap->{name})->{received_messages} };
my $before = $received->();
ok(Headgate::wait_until(20, sub { $received->() > $before + 1 }), 'us-east hears that ap-south knows its key');
$ap->kill9;
ok(Headgate::wait_until(20, sub { $us->node_of($ap->{name})->{state} eq 'silent' }), 'one is away');
my $third = rotated($us);
isnt($third, '', 'the key may be rotated all the same');
knows($eu, $us, $third, 'who is there takes it');
my ($status, undef, $err) = $us->headgate('key', 'rotate');
isnt($status, 0, 'but not once more');
like($err, qr/'ap-south' may not know the present key yet/, 'since who is away could not follow');
is(shown($us), $third, 'and nothing has changed');
$us->kill9;
$us->start;
is(shown($us), $third, 'it is kept over a crash');
$ap->start;
knows($ap, $us, $third, 'who comes back takes it');
ok($cluster->wait_met(20), 'and all meet') or diag $us->log;
ok(Headgate::wait_until(20, sub { rotated($us) ne '' }), 'then it may be rotated again');
knows($_, $us, shown($us), "$_->{name} takes that as well") for $eu, $ap;

# ---- a copy of the former file ----

$us->stop;
Headgate::write_file(state_of('us-east') . '/headgate.key', $file);
chmod 0600, state_of('us-east') . '/headgate.key';
$us->start;
ok(Headgate::wait_until(20, sub { $eu->node_of($us->{name})->{key_state} eq 'differs' }),
   'a former key has no name any more')
    or diag $eu->log;
$cluster->stop;
done_testing;
