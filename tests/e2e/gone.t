#!/usr/bin/perl
# A region is out of reach, and nobody settles without its word: the others have their joint share of a limit, and no
# more; when it is back, all of it counts.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Test::More;

my @names = ('us-east', 'eu-west', 'ap-south');
my @limits = ({name => 'default', capacity => 1000, rate => '1/h', overshoot => 0, default => 'true'});
my $cluster = Headgate::cluster(regions => \@names, limits => \@limits, interval => '20ms', silent_after => '400ms');

my (%client, $admitted);

sub waiting { my ($name) = @_; return $client{$name}->fields('INFO', 'stats')->{uncharged_keys} }

sub drain
{
    my ($name) = @_;
    my $count = 0;
    $count++ while $client{$name}->command('CAN_ACCESS', 'alice');
    $admitted += $count;
    return $count;
}

$cluster->start;
ok($cluster->wait_met, 'three regions meet');
$client{$_} = $cluster->daemon($_)->client for @names;

is($client{'ap-south'}->command('DEBUG', 'DROP', $_, 'both'), 'OK', "ap-south is cut off from $_") for @names[0, 1];
sub calls_it_silent
{
    my ($name) = @_;
    return ($client{$name}->fields('INFO', 'cluster')->{'peer_ap-south'} // '') =~ /state=silent/;
}
ok(Headgate::wait_until(20, sub { calls_it_silent('us-east') && calls_it_silent('eu-west') }),
   'both others call it silent');

# us-east spends first, so that it is short of the key when it hears of what eu-west spends.
my $us = drain('us-east');
cmp_ok($us, '>=', 300, "us-east has its share: $us of 1000");
my $eu = drain('eu-west');
cmp_ok($eu, '>=', 150, "eu-west has what is left of its own: $eu");
ok(Headgate::wait_until(20, sub { waiting('us-east') == 1 }), 'us-east does not charge what eu-west spends');
my $ap = drain('ap-south');
cmp_ok($ap, '>=', 300, "and ap-south has its share: $ap");

is($client{'ap-south'}->command('DEBUG', 'HEAL'), 'OK', 'the cut is over');
ok(Headgate::wait_until(30, sub { !grep { waiting($_) > 0 } @names }), 'nothing waits any more');
ok(Headgate::wait_until(30, sub { drain($_) for @names; return $admitted >= 900 }), 'what is left can be had by all');
cmp_ok($admitted, '<=', 1000, "and no more than the limit: $admitted");
ok($cluster->stop, 'all end in peace');
done_testing;
