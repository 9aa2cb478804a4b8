#!/usr/bin/perl
# A region that is out of reach costs the others nothing for long, and holds back by itself: takeover_after.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Test::More;

my @names = ('us-east', 'eu-west', 'ap-south');
my @limits = ({name => 'default', capacity => 1000, rate => '1/h', overshoot => 0, default => 'true'});
my $cluster = Headgate::cluster(regions => \@names, limits => \@limits, interval => '20ms', silent_after => '400ms',
                                takeover_after => '800ms');

my %client;

sub info { my ($name) = @_; return $client{$name}->fields('INFO', 'cluster') }

sub right_of { my ($name, $peer) = @_; return (info($name)->{"peer_$peer"} // '') =~ /right=(\w+)/ ? $1 : '' }

sub all_act { return !grep { info($_)->{right} ne 'held' || info($_)->{gone_share} > 0 } @names }

# What the daemon admits of the key until it refuses for so many times in a row.
my $admitted = 0;
sub drain { my ($name) = @_; $admitted++ while $client{$name}->command('CAN_ACCESS', 'alice'); return $admitted }

$cluster->start;
ok($cluster->wait_met, 'three regions meet');
$client{$_} = $cluster->daemon($_)->client for @names;
ok(Headgate::wait_until(20, \&all_act), 'and have their rights');

is($client{'ap-south'}->command('DEBUG', 'DROP', $_, 'both'), 'OK', "ap-south is cut off from $_") for @names[0, 1];
ok(Headgate::wait_until(20, sub { info('ap-south')->{right} eq 'lapsed' }), 'it holds back');
my $held_back = qr/ warning ap-south is out of reach of most peers: it goes on with what its share has left/;
ok(Headgate::wait_until(20, sub { $cluster->daemon('ap-south')->log =~ $held_back }),
   'and says so');
ok(Headgate::wait_until(20, sub { right_of('us-east', 'ap-south') eq 'taken' }), 'us-east does not wait for it');
ok(Headgate::wait_until(20, sub { right_of('eu-west', 'ap-south') eq 'taken' }), 'nor does eu-west');
ok(Headgate::wait_until(20, sub { info('us-east')->{gone_share} > 0.3 }),
   'their allowances are lowered by what it may have spent');
like($cluster->daemon('us-east')->log, qr/ap-south is out of reach of most peers and is not waited for any more/,
     'the log says so');

# One region alone would have a third, and what has not settled would stay reserved.
ok(Headgate::wait_until(20, sub { drain('us-east') > 400 }), 'us-east may have more than its share');
my $lonely = 0;
$lonely++ while $client{'ap-south'}->command('CAN_ACCESS', 'alice');
cmp_ok($lonely, '<=', 333, 'ap-south has no more than its share');
cmp_ok($admitted + $lonely, '<=', 1000, 'all together no more than the limit');

is($client{'ap-south'}->command('DEBUG', 'HEAL'), 'OK', 'the cut is over');
ok(Headgate::wait_until(30, \&all_act), 'all have their rights again, and nobody holds back for anybody');
like($cluster->daemon('ap-south')->log, qr/ap-south (?:was declared gone by its peers and joins again|joins again)/,
     'it has joined anew');
drain($_) for @names;
cmp_ok($admitted + $lonely, '<=', 1000, 'no more than the limit in the end');
ok($cluster->stop, 'all end in peace');
done_testing;
