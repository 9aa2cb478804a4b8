#!/usr/bin/perl
# A daemon whose config says 300 a second where its peers' say 100: it decides nothing and says why, the limit of the
# others holds, and a change that is rolled out goes through.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Test::More;
use Time::HiRes qw(time);

my @limits = ({name => 'default', capacity => 100, rate => '100/s', overshoot => 0, default => 'true'});
my @others = ({name => 'default', capacity => 100, rate => '300/s', overshoot => 0, default => 'true'});

sub cluster_info { my ($daemon) = @_; return $daemon->client->fields('INFO', 'cluster') }
sub decides {
    my ($daemon) = @_;
    return Headgate::wait_until(10, sub { cluster_info($daemon)->{config_state} eq 'same' });
}

my $cluster = Headgate::cluster(limits => \@limits, nodes => {'ap-south' => {limits => \@others}});
$cluster->{may_differ} = 1;
$cluster->start;
ok($cluster->wait_met(10), 'three daemons, one with another rate');
my ($east, $west, $south) = $cluster->daemons;
ok(Headgate::wait_until(10, sub { cluster_info($south)->{config_state} eq 'out' }), 'it says that it is the odd one');

# All are asked for more than there is, for two seconds.
my ($begun, %given) = (time);
my %client = map { $_->{name} => $_->client } $cluster->daemons;
while (time < $begun + 2) {
    for my $name (keys %client) {
        $given{$name} += $_ for $client{$name}->pipeline(map { ['CAN_ACCESS', 'alice'] } 1 .. 50);
    }
}
my $most = 100 + 100 * (time - $begun) + 2;
my $sum = $given{'us-east'} + $given{'eu-west'} + $given{'ap-south'};
cmp_ok($sum, '<=', $most, "what all admit, $sum, is within the agreed limit");
cmp_ok($given{'us-east'} + $given{'eu-west'}, '>', 50, 'those who agree go on');
is($given{'ap-south'}, 0, 'the other one admits nothing');

like($south->client->command('EXPLAIN', 'alice'),
     qr/refused \(config_differs\): this node's config differs from that of its peers/, 'EXPLAIN says why');
like($south->log, qr/ warning ap-south decides nothing: its limits, .* not those in use \(daemons with digest \w+: 2;/,
     'the log says so');
is(scalar(() = $south->log =~ /decides nothing/g), 1, 'once');
is(cluster_info($east)->{config_state}, 'differs', 'the others say that one differs');
my (undef, $nodes) = Headgate::run(10, Headgate::headgate(), 'nodes', '--at', "127.0.0.1:$south->{ports}{clients}");
like($nodes, qr/^ap-south \*.* 0\.00% .*DIFFERS +pinned$/m, 'headgate nodes shows that it has no part, and why');

# ---- the mistake is mended ----

is($south->stop, 0, 'it is stopped');
$south->{settings}{limits} = \@limits;
$south->write_config->start;
ok(decides($south), 'with the same config as the others it decides');
ok(Headgate::wait_until(10, sub { $south->client->command('CAN_ACCESS', 'bob') == 1 }), 'and admits');

# ---- a change is rolled out ----

my @state;
for my $daemon ($east, $west, $south) {
    is($daemon->stop, 0, "$daemon->{name} is stopped");
    $daemon->{settings}{limits} = \@others;
    $daemon->write_config->start;
    ok(Headgate::wait_until(10, sub {
        @state = map { my $info = cluster_info($_); "$info->{state} $info->{config_state}" } $cluster->daemons;
        return $daemon != $east && $daemon != $west ? "@state" eq 'active same active same active same'
            : $daemon == $east ? "@state" eq 'active out active differs active differs'
            : "@state" eq 'active differs active differs active out';
    }), "$daemon->{name} has the new rate: most decide") or diag "@state";
}
ok(Headgate::wait_until(10, sub { $south->client->command('CAN_ACCESS', 'carol') == 1 }), 'in the end all do');
ok($cluster->stop(10), 'they leave');

done_testing();
