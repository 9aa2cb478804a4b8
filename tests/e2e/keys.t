#!/usr/bin/perl
# Keys of daemons: each makes one and keeps it, peers learn it and know it after a restart, another key under the same
# name is not heard until an operator accepts it, and where a majority forgets, one daemon alone forgets nobody.
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
                                leave_timeout => '200ms', signatures => 'pinned', forget => 'majority',
                                nodes => {map { $_ => {state_dir => state_of($_)} } @names});

sub headgate { my ($name, @words) = @_; return $cluster->daemon($name)->headgate(@words) }
sub shown { my ($name) = @_; my (undef, $out) = headgate($name, 'key', 'show'); chomp $out; return $out }

# What that daemon knows of the other one.
sub node_of { my ($at, $of) = @_; return $cluster->daemon($at)->node_of($of) }
sub becomes {
    my ($at, $of, $state, $what) = @_;
    ok(Headgate::wait_until(20, sub { node_of($at, $of)->{key_state} eq $state }), $what)
        or diag $cluster->daemon($at)->log;
    return;
}
sub stat_of { my ($name, $stat) = @_; return $cluster->daemon($name)->client->fields('INFO', 'stats')->{$stat} }

# ---- learnt ----

$cluster->start;
ok($cluster->wait_met, 'three regions meet');
becomes('us-east', $_, 'new', "us-east learns the key of $_") for 'eu-west', 'ap-south';
my %key = map { $_ => shown($_) } @names;
like($key{$_}, qr/^[0-9a-f]{64}$/, "$_ shows its own") for @names;
is(node_of('us-east', 'eu-west')->{key}, $key{'eu-west'}, 'which is the one that others learn');
is(sprintf('%o', (stat state_of('us-east') . '/headgate.key')[2] & 07777), '600', 'the file is its owner\'s alone');
is(stat_of('us-east', 'members_unsigned'), 0, 'all sign');
is(stat_of('us-east', 'proofs_wrong') + stat_of('us-east', 'words_unproven'), 0, 'and nothing is wrong');
like((headgate('us-east', 'nodes'))[1], qr/CONFIG +KEY\n.*same +pinned\n.*same +new\n/, 'headgate nodes shows it');

# ---- kept ----

$cluster->daemon('us-east')->stop;
$cluster->daemon('us-east')->start;
ok($cluster->wait_met, 'us-east starts anew');
is(shown('us-east'), $key{'us-east'}, 'with the same key');
is(node_of('us-east', 'eu-west')->{key_state}, 'pinned', 'and knows those of others');
unlike($cluster->daemon('eu-west')->log, qr/another key/, 'nobody has seen another');

# ---- another key under the same name ----

$cluster->daemon('ap-south')->kill9;
unlink state_of('ap-south') . '/headgate.key' or die $!;
$cluster->daemon('ap-south')->start;
becomes('us-east', 'ap-south', 'differs', 'who comes with another key is not heard');
my $other = shown('ap-south');
isnt($other, $key{'ap-south'}, 'it has another one');
is(node_of('us-east', 'ap-south')->{offered_key}, $other, 'which nodes shows');
like($cluster->daemon('us-east')->log,
     qr/ap-south has another key than the one that is pinned here.*accept ap-south $other/,
     'and the log, with what to say');
cmp_ok(stat_of('us-east', 'messages_unproven'), '>', 0, 'its messages are dropped');
is((headgate('us-east', 'key', 'accept', 'ap-south', 'nonsense'))[0], 65, 'no other word is a fingerprint');
like((headgate('us-east', 'key', 'accept', 'nobody', $other))[2], qr/unknown node 'nobody'/, 'nor a name a node');
is((headgate('us-east', 'key', 'accept', 'us-east', $other))[0], 65, 'nor is it itself');
is((headgate('us-east', 'key'))[0], 64, 'a word is missing');
is((headgate($_, 'key', 'accept', 'ap-south', $other))[1],
   "ap-south has the key $other at this daemon from now on: say so to each daemon\n", "$_ accepts it")
    for 'us-east', 'eu-west';
becomes($_, 'ap-south', 'pinned', "$_ has it pinned") for 'us-east', 'eu-west';
ok($cluster->wait_met(20), 'and all meet again') or diag $cluster->daemon('us-east')->log;
my $port = $cluster->daemon('us-east')->{ports}{clients};
ok(Headgate::wait_until(10, sub { node_of('us-east', 'ap-south')->{state} eq 'active' }), 'ap-south is active');
$cluster->daemon('us-east')->stop;
$cluster->daemon('us-east')->start;
ok($cluster->wait_met(20), 'us-east starts once more');
is(node_of('us-east', 'ap-south')->{key}, $other, 'and knows the key that was accepted');

# ---- by majority ----

$cluster->daemon('ap-south')->kill9;
ok(Headgate::wait_until(10, sub { node_of('us-east', 'ap-south')->{state} eq 'silent' }), 'ap-south is gone');
like((headgate('us-east', 'forget', 'ap-south'))[1], qr/^not forgotten yet: ap-south; /, 'headgate forget says so');
ok(Headgate::wait_until(10, sub { $cluster->daemon('us-east')->log =~ /ap-south is not forgotten yet: 1 of the 2/ }),
   'one word does not forget it');
my $heard = node_of('eu-west', 'us-east')->{received_messages};
ok(Headgate::wait_until(10, sub { node_of('eu-west', 'us-east')->{received_messages} > $heard + 5 }),
   'another daemon hears it');
isnt(node_of('eu-west', 'ap-south')->{state}, 'left', 'and does not forget it either');
is((headgate('eu-west', 'forget', 'ap-south'))[1], "forgotten: ap-south\n", 'a second word is enough');
ok(Headgate::wait_until(10, sub { node_of($_, 'ap-south')->{state} eq 'left' }), "with two words, $_ forgets it")
    for 'us-east', 'eu-west';
$cluster->stop;

# ---- nothing to keep it in ----

my %none = (signatures => 'pinned', state_dir => 'none');
my $bare = Headgate::cluster(regions => ['us-east'], nodes => {'us-east' => \%none});
my $daemon = $bare->daemon('us-east');
$daemon->spawn->wait_end(10);
like($daemon->log, qr/:\d+: signatures is 'pinned': expected off or learn, or a state_dir/,
     'a key that is not kept is refused');
done_testing;
