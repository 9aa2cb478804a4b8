#!/usr/bin/perl
# Weights of regions that change while daemons run: the shares follow, all together never admit more than the limit, a
# silent daemon stops a raise and is named, and a restart of all keeps what was set.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use JSON::PP;
use Test::More;
use Time::HiRes;

my @names = ('us-east', 'eu-west', 'ap-south');
my %weights = ('us-east' => 0.5, 'eu-west' => 0.3, 'ap-south' => 0.2);
my @limits = ({name => 'default', capacity => 1000, rate => '1/h', overshoot => 0, default => 'true'});
# Without grants, so that a daemon admits by its share alone.
sub state_of { return Headgate::scratch() . "/state-$_[0]" }
sub cluster {
    my %options = @_;
    my $nodes = delete $options{nodes} // {map { $_ => {state_dir => state_of($_)} } @names};
    return Headgate::cluster(regions => \@names, weights => \%weights, limits => \@limits, interval => '20ms',
                             silent_after => '400ms', grants => 'false', nodes => $nodes, %options);
}
mkdir state_of($_) for @names;
my $cluster = cluster();
my %client;

sub info { my ($name) = @_; return $client{$name}->fields('INFO', 'cluster') }
sub share { my ($name) = @_; return sprintf '%.3f', info($name)->{share} }
sub headgate {
    my ($name, @words) = @_;
    my $port = $cluster->daemon($name)->{ports}{clients};
    return Headgate::run(20, Headgate::headgate(), '--at', "127.0.0.1:$port", @words);
}
sub meet {
    $cluster->start;
    ok($cluster->wait_met, "$_[0]: three regions meet");
    $client{$_} = $cluster->daemon($_)->client for @names;
    return;
}

# True once that version is in force at all daemons.
sub complete {
    my ($version) = @_;
    return Headgate::wait_until(20, sub {
        return !grep { my $info = info($_); $info->{weights_version} != $version || $info->{weights_pending} } @names;
    });
}
sub drain { my ($name, $key) = @_; my $n = 0; $n++ while $client{$name}->command('CAN_ACCESS', $key); return $n }

meet('at first');
is(info('us-east')->{weights_version}, 0, 'the weights are those of the config');
is(info('us-east')->{weights_in_force}, 'us-east=0.5,eu-west=0.3,ap-south=0.2', 'which INFO names');
ok(Headgate::wait_until(20, sub {
    (headgate('eu-west', 'weights'))[1] =~ /^weights 0, those of the config, are in force at all daemons\n/;
}), 'and headgate');

# ---- a change, with all of a share spent by the weight before ----
my $admitted = drain('us-east', 'early');
cmp_ok($admitted, '>', 400, 'us-east spends its part of a key');
my ($status, $out, $err) = headgate('eu-west', 'weights', 'set', 'us-east=0.2', 'ap-south=0.5');
is("$status$err", '0', 'eu-west takes other weights');
like($out, qr/^weights 1 are made/, 'and says their number');
$admitted += drain('ap-south', 'early') for 1 .. 20;
ok(complete(1), 'all have them');
is(join(' ', map { share($_) } @names), '0.200 0.300 0.500', 'shares follow');
ok(Headgate::wait_until(20, sub { $admitted += drain($_, 'early') for @names; $admitted > 900 }),
   'all have spent more');
cmp_ok($admitted, '<=', 1000, 'of the key that was spent from before, no more than the limit is admitted');
my ($first) = @{decode_json((headgate('us-east', 'weights', 'history', '--json'))[1])->{history}};
is("$first->{version} $first->{complete}", '1 1', 'the history has them');

# ---- a silent daemon stops a raise, and no decrease ----
is($client{'us-east'}->command('DEBUG', 'DROP', 'ap-south', 'both'), 'OK', 'ap-south is cut off from us-east');
is($client{'eu-west'}->command('DEBUG', 'DROP', 'ap-south', 'both'), 'OK', 'and from eu-west');
is($client{'us-east'}->command('WEIGHTS', 'SET', 'eu-west=0.1', 'us-east=0.4'), 2, 'weights are set');
ok(Headgate::wait_until(20, sub { share('eu-west') eq '0.100' }), 'a smaller one is in force');
ok(Headgate::wait_until(20, sub { info('us-east')->{weights_wait_for} eq 'ap-south=silent' }), 'ap-south is named')
    or diag(info('us-east')->{weights_wait_for});
is(share('us-east'), '0.200', 'a larger one is not in force');
like((headgate('us-east', 'weights'))[1], qr/^waits for ap-south: it is silent: wait until it is heard, or forget it/m,
     'and headgate says what to do');
$client{$_}->command('DEBUG', 'HEAL') for @names;
ok(complete(2), 'once it is heard, it is in force everywhere');
is(join(' ', map { share($_) } @names), '0.400 0.100 0.500', 'by all shares');

# ---- what is refused ----
sub refused {
    my ($words, $sentence) = @_;
    ($status, $out, $err) = headgate('us-east', 'weights', 'set', @$words);
    is($status, 65, "set @$words is refused");
    like($err, $sentence, 'with a sentence');
    return;
}
refused(['us-east=0.9'], qr/would sum to 1\.500000000: expected at most 1/);
refused(['mars=0.1'], qr/no region is called mars/);
refused(['us-east=0'], qr/the weight of us-east is '0': expected a decimal above 0 and at most 1/);
refused(['us-east=0.1', 'us-east=0.2'], qr/us-east has two weights/);
like((headgate('us-east', 'weights', 'set'))[2], qr/a word is missing/, 'no word');
like((headgate('us-east', 'weights', 'suggest'))[1], qr/^headgate weights set us-east=/, 'suggest writes a command');

# ---- a restart of all ----
$_->kill9 for $cluster->daemons;
meet('after a crash of all');
ok(complete(2), 'the weights are what they were');
is(join(' ', map { share($_) } @names), '0.400 0.100 0.500', 'and so are the shares');

# ---- what the config says has no effect, and the log says so ----
{
    my $daemon = $cluster->daemon('us-east');
    my $named = qr/ warning \Q$daemon->{config}\E:(\d+): the weight of region us-east is (\S+),/;
    my $idle = qr/$named which has no effect: (\S+) of /;
    my $said = sub {
        my @all = $daemon->log =~ /${idle}version 2 of the weights is in force, made by an operator; headgate weights/g;
        return @all;
    };
    my @found;
    ok(Headgate::wait_until(10, sub { (@found = $said->()) >= 3 }), 'at the start the log names a weight');
    is("@found[-2, -1]", '0.5 0.4', 'what it is, and what is in force');
    my $line = (split /\n/, Headgate::read_file($daemon->{config}))[$found[-3] - 1];
    like($line, qr/weight: 0\.5/, 'with its line');
    my $count = @found;
    $daemon->{settings}{regions}[0]{weight} = 0.6;
    $daemon->{settings}{regions}[2]{weight} = 0.1;
    $daemon->write_config;
    is_deeply($client{'us-east'}->command('RELOAD')->[3], ['regions'], 'another weight in the config');
    is(join(' ', ($said->())[-2, -1]), '0.6 0.4', 'is said to have no effect, too');
    is(scalar($said->()), $count + 3, 'once');
    $daemon->{settings}{regions}[0]{weight} = 0.4;
    $daemon->{settings}{regions}[2]{weight} = 0.3;
    $daemon->write_config;
    $client{'us-east'}->command('RELOAD');
    is(scalar($said->()), $count + 3, 'one that is in force is not named');
    $daemon->{settings}{regions}[0]{weight} = 0.5;
    $daemon->{settings}{regions}[2]{weight} = 0.2;
    $daemon->write_config;
}
$cluster->daemon('us-east')->stop;
ok(Headgate::wait_until(20, sub { (info('eu-west')->{'peer_us-east'} // '') =~ /state=left/ }), 'us-east leaves');
is($client{'eu-west'}->command('WEIGHTS', 'SET', 'us-east=0.1', 'eu-west=0.4'), 3, 'weights are set without it');
ok(Headgate::wait_until(20, sub { info('eu-west')->{weights_wait_for} eq 'us-east=left' }),
   'it may come back, so it is waited for');
$cluster->daemon('us-east')->start;
$client{'us-east'} = $cluster->daemon('us-east')->client;
ok(complete(3), 'it has come back, and has heard them');
ok(Headgate::wait_until(20, sub { share('us-east') eq '0.100' }), 'as its share shows') or diag(share('us-east'));
ok($cluster->stop, 'all end in peace');

# ---- where they cannot change ----
my %kept = map { $_ => {state_dir => state_of($_)} } @names[0, 1];
$cluster = cluster(nodes => {'ap-south' => {state_dir => 'none'}, %kept});
meet('one has no state_dir');
refused(['us-east=0.05'], qr/ap-south keeps no weights over a restart: upgrade it, or give it a state_dir/);
is(share('us-east'), '0.100', 'and nothing is lowered');
is(share('ap-south'), '0.500', 'it has them as well') if complete(3);
like($client{'ap-south'}->command('WEIGHTS', 'SET', 'us-east=0.05'), qr/its state_dir is none/, 'nor can that one');
ok($cluster->stop, 'all end in peace');
$cluster = cluster(takeover_after => '2s');
meet('with takeover_after');
refused(['us-east=0.05'], qr/weights cannot be set while takeover_after is set: change them in all configs/);
ok($cluster->stop, 'all end in peace');

# ---- by demand ----
{
    my %fresh = map { $_ => {state_dir => state_of("demand-$_")} } @names;
    mkdir $_->{state_dir} for values %fresh;
    local $limits[0] = {name => 'default', capacity => 1000, rate => '1000/s', overshoot => 0, default => 'true'};
    $cluster = cluster(nodes => \%fresh, weights_by_demand => '2s');
    meet('by demand');
    is(info('us-east')->{weights_proposer}, 'ap-south', 'the first name proposes');
    is(info('us-east')->{weights_by_demand}, 'on', 'as the config says');
    like((headgate('us-east', 'weights'))[1], qr/^by demand: ap-south looks at it in \d s in which all/m,
         'headgate, too');
    my $deadline = Time::HiRes::time() + 30 * $Headgate::patience;
    $client{'ap-south'}->command('CAN_ACCESS', 'key', 5)
        until info('eu-west')->{weights_version} || Time::HiRes::time() > $deadline;
    ok(complete(1), 'a region that is asked for most') or diag(info('eu-west')->{weights_version});
    cmp_ok(share('ap-south'), '>', 0.5, 'has more');
    cmp_ok(share('us-east'), '<', 0.3, 'and others less');
    my ($by_demand) = @{decode_json((headgate('eu-west', 'weights', 'history', '--json'))[1])->{history}};
    is($by_demand->{author}, 'auto', 'as the history says');
    like($cluster->daemon('ap-south')->log, qr/ info weights 1 by demand: us-east 0\.500 to 0\.[12]/, 'and the log');
    unlike($_->log, qr/which has no effect/, 'no log takes exception to it') for $cluster->daemons;
    is($client{'us-east'}->command('WEIGHTS', 'SET', 'us-east=0.1', 'eu-west=0.1', 'ap-south=0.1'), 2,
       'an operator comes first');
    ok(complete(2), 'all have heard of that');
    ok(Headgate::wait_until(10, sub { $cluster->daemon('us-east')->log =~ /0\.1 of version 2 .* by an operator/ }),
       'then the weights of the config have no effect');
    ok($cluster->stop, 'all end in peace');
}
done_testing;
