#!/usr/bin/perl
# Messages of a peer that are recorded and said again, also after a restart of whoever hears them: counters, members,
# rules and keys stay as they are.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use JSON::PP;
use Tape;
use Test::More;

my ($here, $there) = ('us-east', 'eu-west');
my @users = qw(alice bob carol);
# What eu-west publishes comes to us-east over the tape: it says that it is at 127.0.0.2.
my $cluster = Headgate::cluster(
    regions => [$here, $there], interval => '20ms', silent_after => '400ms', join_timeout => '1s',
    leave_timeout => '500ms',
    limits => [{name => 'default', capacity => 1000, rate => '1/h', overshoot => 0, default => 'true'}],
    nodes => {$there => {advertise => '127.0.0.2'}});
my ($us, $eu) = map { $cluster->daemon($_) } $here, $there;
$eu->{settings}{listen}{snapshots} = "0.0.0.0:$eu->{ports}{snapshots}";
$us->{settings}{peers}[0]{$_} =~ s/^127.0.0.1/127.0.0.2/ for qw(gossip snapshots);
$_->write_config for $us, $eu;
my $tape = Tape::start('127.0.0.2', $eu->{ports}{gossip});

sub meet {
    my ($what) = @_;
    ok($cluster->wait_met(20), "$what: they meet") or diag $us->log, $eu->log;
    return;
}

sub spend {
    my ($daemon, $name, $cost) = @_;
    is($daemon->client->command('CHECK', "user=$name", 'COST', $cost)->[0], 1,
       "$daemon->{name} spends $cost for $name");
    return;
}

sub stat_of { my ($name) = @_; return $us->client->fields('INFO', 'stats')->{$name} }

# What us-east knows that a message could change, as one text. (Whether a key was learnt in this start is not.)
sub known {
    my $client = $us->client;
    my %left = map { $_ => $client->command('PEEK', "user=$_")->[2] } @users;
    my %member = map { my $node = $us->node_of($_); $_ => "$node->{state} $node->{key}" } $here, $there;
    my $rule = $client->command('RULE', 'GET', 'api', 'each');
    return JSON::PP->new->canonical->pretty->encode({left => \%left, member => \%member, rule => "$rule"});
}

# Both daemons agree about what is left of each key.
sub settled {
    my $left = sub {
        my $client = $_[0]->client;
        return join ' ', map { $client->command('PEEK', "user=$_")->[2] // '-' } @users;
    };
    return Headgate::wait_until(20, sub { return $left->($us) eq $left->($eu) });
}

sub say_again {
    my ($what) = @_;
    for my $order ('forward', 'backward') {
        my $before = known();
        my $heard = stat_of('messages_received');
        my $said = $tape->say_in_parts($order, sub { stat_of('messages_received') });
        cmp_ok($said, '>', 5, "$what: all is said again, $order");
        ok(Headgate::wait_until(20, sub { stat_of('messages_received') >= $heard + $said }), 'and heard');
        ok(settled(), 'both agree');
        is(known(), $before, 'nothing has changed');
    }
    return;
}

$cluster->start;
meet('at first');
spend($eu, alice => 100);
spend($us, alice => 50);
spend($eu, bob => 30);
for my $rate (10, 20) {
    my $rule = "{service: api, id: each, by: user, rate: $rate/h}";
    is($eu->client->command('RULE', 'SET', $rule), 'OK', "a rule of $rate/h");
}
is(($eu->headgate('key', 'rotate'))[0], 0, 'eu-west has a second key');
ok(settled(), 'both know what was spent');
like(known(), qr{20/h}, 'and the newer rule');
say_again('while both run');

ok(!$eu->stop, 'eu-west leaves');
$eu->start;
meet('eu-west is back');
spend($eu, carol => 20);
ok(settled(), 'and spends more');
say_again('after a restart of who has said it');

$us->kill9;
$us->start;
meet('us-east was killed, and is back');
ok(settled(), 'both agree');
say_again('after a crash of who hears it');
ok(!$us->stop, 'us-east leaves');
$us->start;
meet('us-east is back');
ok(settled(), 'both agree');
say_again('after a restart of who hears it');

subtest 'a daemon that hears nothing else' => sub {
    my $before = known();
    my $key = $us->node_of($there)->{key};
    is($us->stop, 0, 'us-east leaves');
    $eu->signal('STOP');
    $tape->cut;
    $us->start;
    my $said = 0;
    ok(Headgate::wait_until(20, sub { $said = $tape->say_again }), 'it hears old messages, and nothing new');
    # nng drops what a busy daemon does not read in time
    my $heard = sub { $tape->say_again; stat_of('messages_received') >= $said };
    ok(Headgate::wait_until(20, $heard), 'as many as there are');
    is($us->node_of($there)->{key}, $key, 'eu-west has the key that it had');
    unlike($us->log, qr/has started anew with another key/, 'and nothing is said of another one');
    my $given = 0;
    $given++ while $given < 1100 && $us->client->command('CAN_ACCESS', 'dave');
    $eu->signal('CONT');
    $tape->mend;
    meet('eu-west goes on');
    my $client = $eu->client;
    $given++ while $given < 1100 && $client->command('CAN_ACCESS', 'dave');
    cmp_ok($given, '<=', 1000, 'both together give no more than the limit');
    ok(settled(), 'both agree');
    is(known(), $before, 'all is as it was before');
};

ok($cluster->stop, 'all end in peace');
$tape->stop;
done_testing;
