#!/usr/bin/perl
# Daemons that require keys: a rolling change of a running cluster, who signs nothing or has another key, and a daemon
# that starts with an empty state_dir.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Test::More;

my @names = ('us-east', 'eu-west', 'ap-south');
my $certs = Headgate::scratch() . '/certs';
sub state_of { return Headgate::scratch() . "/state-$_[0]" }
for my $name (@names) {
    mkdir state_of($name);
    my ($status, undef, $err) = Headgate::run(10, Headgate::headgate(), 'certs', '--dir', $certs, $name);
    die $err if $status != 0;
}
my $cluster = Headgate::cluster(regions => \@names, interval => '20ms', silent_after => '400ms', join_timeout => '1s',
                                leave_timeout => '200ms', forget => 'majority',
                                nodes => {map {
                                    $_ => {state_dir => state_of($_),
                                           peers_tls => {ca => "$certs/ca.pem", certificate => "$certs/$_.pem",
                                                         key => "$certs/$_.key"}}
                                } @names});
my ($us, $eu, $ap) = map { $cluster->daemon($_) } @names;
sub stat_of { my ($daemon, $stat) = @_; return $daemon->client->fields('INFO', 'stats')->{$stat} }
sub becomes {
    my ($at, $of, $key, $state, $what) = @_;
    ok(Headgate::wait_until(20, sub { my $node = $at->node_of($of->{name}); $node->{$key} eq $state }), $what)
        or diag $at->log;
    return;
}
sub signs { my ($daemon, $how) = @_; $daemon->{settings}{signatures} = $how; $daemon->write_config; return }

# ---- a rolling change ----

$cluster->start;
ok($cluster->wait_met(20), 'three regions meet') or diag $us->log;
ok(Headgate::wait_until(20, sub { !grep { stat_of($_, 'members_unsigned') > 0 } $cluster->daemons }), 'all sign');
for my $daemon ($cluster->daemons) {
    $daemon->stop;
    signs($daemon, 'required');
    $daemon->start;
    ok($cluster->wait_met(20), "all meet when $daemon->{name} requires keys") or diag $daemon->log;
    is(stat_of($_, 'members_refused') + stat_of($_, 'messages_unsigned'), 0, "$_->{name} refuses nobody")
        for $cluster->daemons;
}

# ---- who signs nothing ----

$ap->stop;
signs($ap, 'off');
$ap->start;
becomes($us, $ap, 'key_state', 'differs', 'whose key is known and who signs nothing is not heard');
is(($_->headgate('key', 'accept', 'ap-south', 'none'))[0], 0, "$_->{name} forgets its key") for $us, $eu;
becomes($us, $ap, 'key_state', 'missing', 'and then as one that has none');
like(($us->headgate('nodes'))[1], qr/^ap-south .* MISSING$/m, 'headgate nodes shows it');
cmp_ok(stat_of($us, 'messages_unsigned'), '>', 0, 'its messages are dropped');
is(stat_of($us, 'members_refused'), 1, 'and it is counted');
like($us->log, qr/ap-south signs nothing, and is not heard \(signatures: required\)/, 'and named in the log');
becomes($us, $eu, 'state', 'active', 'the others go on');

# ---- with an empty state_dir ----

$ap->stop;
signs($ap, 'required');
unlink glob state_of('ap-south') . '/*';
$ap->start;
becomes($us, $ap, 'key_state', 'new', 'a new key is learnt where none is known');
ok($cluster->wait_met(20), 'and all meet') or diag $ap->log;
becomes($ap, $_, 'key_state', 'new', "it learns that of $_->{name}") for $us, $eu;
is($ap->node_of($ap->{name})->{state}, 'active', 'and is active');
$cluster->stop;

# ---- what it needs ----

my $bare = Headgate::cluster(regions => ['us-east'], nodes => {'us-east' => {signatures => 'required'}});
my $daemon = $bare->daemon('us-east');
$daemon->spawn->wait_end(10);
like($daemon->log, qr/:\d+: signatures is 'required': expected (off or learn, or a state_dir|pinned, or peers_tls)/,
     'it is refused without');
done_testing;
