#!/usr/bin/perl
# Rules whose home is one daemon: two regions of two real daemons each, as operators run them who want one to fail. A
# limit of 1 is admitted by any of the four a round trip later, and once.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use JSON::PP;
use Test::More;

my @names = qw(us-1 us-2 eu-1 eu-2);
my %region = map { $_ => /us/ ? 'us-east' : 'eu-west' } @names;
my @ports = Headgate::free_ports(3 * @names);
my %ports = map { my $name = $_; $name => {map { $_ => shift @ports } qw(clients gossip snapshots)} } @names;
sub address { my ($name, $port) = @_; return "127.0.0.1:$ports{$name}{$port}" }
my %daemon = map {
    my $name = $_;
    $name => Headgate::Daemon::new($name, {
        node => $name, region => $region{$name}, secret => 'of-a-test',
        listen => {map { $_ => address($name, $_) } qw(clients gossip snapshots)},
        regions => [{name => 'us-east', weight => '0.5'}, {name => 'eu-west', weight => '0.5'}],
        limits => [{name => 'default', capacity => 100, rate => '100/s'}],
        peers => [map { {node => $_, region => $region{$_}, gossip => address($_, 'gossip'),
                         snapshots => address($_, 'snapshots')} } grep { $_ ne $name } @names],
    }, $ports{$name})
} @names;
$_->start for values %daemon;
sub sees { my ($daemon) = @_; return grep({ $_->{state} eq 'active' } $daemon->all_nodes) == @names }
sub Headgate::Daemon::all_nodes {
    my ($self) = @_;
    my (undef, $out) = $self->headgate('--json', 'nodes');
    return @{JSON::PP::decode_json($out)};
}
ok(Headgate::wait_until(20, sub { !grep { !sees($_) } values %daemon }), 'four daemons see each other')
    or diag map { $_->log } values %daemon;

my $client = $daemon{'eu-1'}->client;
my $one = 'service: shop, by: user, algorithm: quota, limit: 1, window: year, overshoot: 0, patience: 5s';
sub set { my ($id, $home) = @_; return $client->command(qw(RULE SET), "{id: $id, $one, home: $home}") }
like(set('one', 'us-east'), qr{or daemons as homes \(home: \[REGION/NAME, \.\.\.\]\)$},
     'two daemons of a region cannot have a limit of 1, and the answer says what can');
like(set('one', 'us-east/eu-1'), qr{home is 'us-east/eu-1', which no daemon is: }, 'a daemon stands with its region');
like(set('one', 'us-east/'), qr{expected a region, a daemon as REGION/NAME, a list of these, by_key, or none},
     'a home needs a name');
is(set('one', 'us-east/us-2'), 'OK', 'a rule with a daemon as its home is set');
sub text { my ($name) = @_; return $daemon{$name}->client->command(qw(RULE GET shop one)) // '' }
ok(Headgate::wait_until(10, sub { !grep { text($_) !~ m{^home: us-east/us-2$}m } @names }), 'all daemons have it');

sub check { my ($name, @words) = @_; return $daemon{$name}->client->command('CHECK', @words, 'SERVICE', 'shop')->[0] }
# The home of a key may need longer than the patience of a request.
sub takes { my ($name, @words) = @_; return Headgate::wait_until(10, sub { check($name, @words) }) ? 1 : 0 }
for my $name (@names) {
    is(takes($name, "user=of-$name"), 1, "a limit of 1 admits one at $name");
    is(check($_, "user=of-$name", 'PATIENCE', 300), 0, "and no other one at $_") for @names;
}
sub explained {
    my ($name, $user) = @_;
    return $daemon{$name}->client->command('EXPLAIN', "user=$user", qw(SERVICE shop));
}
like(explained('us-1', 'new'), qr{^home  +us-east/us-2 has the whole limit: this daemon asks there}m,
     'EXPLAIN of a daemon of the same region names the home');
like(explained('us-2', 'new'), qr{^home  +us-east/us-2 has the whole limit$}m, 'so does that of the home');

# Without a word about its home, each key has one among the four daemons.
like($client->command(qw(RULE SET), "{id: all, $one}"),
     qr{^OK, but rule shop/all: home is a list of daemons, since none of 4 daemons would ever admit},
     'a limit of 1 without a home is taken');
my $list = 'home: [eu-west/eu-1, eu-west/eu-2, us-east/us-1, us-east/us-2]';
sub text_of_all { my ($name) = @_; return $daemon{$name}->client->command(qw(RULE GET shop all)) // '' }
ok(Headgate::wait_until(10, sub { !grep { text_of_all($_) !~ /^\Q$list\E$/m } @names }),
   'all daemons have the list of all') or diag $client->command(qw(RULE GET shop all));
is($client->command(qw(RULE DEL shop one)), 1, 'the other rule goes');
ok(Headgate::wait_until(10, sub { !grep { defined text($_) && text($_) ne '' } @names }), '... everywhere');
my %home;
for my $user (map { "key-$_" } 1 .. 40) {
    my ($home) = explained('eu-2', $user) =~ m{^home  +(\S+) has the whole limit of this key}m;
    push @{$home{$home}}, $user;
}
is_deeply([sort keys %home], [map { "$region{$_}/$_" } sort @names], 'each is the home of some keys');
for my $home (sort keys %home) {
    my $user = shift @{$home{$home}};
    my ($first, @others) = @names;
    my @allowed = (takes($first, "user=$user"), map { check($_, "user=$user", 'PATIENCE', 2000) } @others);
    is(join(' ', @allowed), '1 0 0 0', "a key of $home is admitted at us-1, and once");
}

$daemon{'us-2'}->kill9;
my $lost = $home{'us-east/us-2'}[0];
sub is_isolated { my ($name, $user) = @_; return explained($name, $user) =~ m{^one more now +refused \(isolation\)}m }
ok(Headgate::wait_until(30, sub { is_isolated($_, $lost) }), "keys of a daemon that is gone are refused at $_")
    or diag explained($_, $lost)
    for qw(us-1 eu-1);
for my $home (grep { $_ ne 'us-east/us-2' } sort keys %home) {
    is(takes('us-1', "user=$home{$home}[0]"), 1, "those of $home go on");
}
is($client->command(qw(RULE DEL shop all)), 1, 'that rule goes');
like(set('one', 'us-east/us-2'), qr/^OK, but rule shop\/one: home is 'us-east\/us-2', where no daemon runs now/,
     'the first one is back');
ok(Headgate::wait_until(30, sub { explained('us-1', 'late') =~ m{^one more now +refused \(isolation\)}m }),
   'without its home a rule admits nothing, also in that region') or diag explained('us-1', 'late');
is(check('us-1', 'user=late', 'PATIENCE', 100), 0, 'however long a client waits');
$daemon{'us-2'}->start;
ok(Headgate::wait_until(30, sub { check('us-1', 'user=late') == 1 }), 'and again when it is back')
    or diag explained('us-1', 'late'), $daemon{'us-2'}->log;
is(check($_, 'user=late', 'PATIENCE', 300), 0, "once, says $_") for @names;
is($daemon{$_}->stop, 0, "$_ ends well") for @names;
done_testing;
