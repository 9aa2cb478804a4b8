#!/usr/bin/perl
# Three regions with a wide area network between them, each a namespace of its own, judged from outside: the bound holds
# through delay, loss and cuts, and daemons that do not know each other break it.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/../wan";
use Test::More;
use Wan;

my ($capacity, $rate) = (100, 100);
my %limit = (capacity => $capacity, rate => "$rate/s", default => 'true');
my @regions = ('us', 'eu', 'ap');
my %asked = (capacity => $capacity, rate => $rate);

my $wan = Wan::world(regions => \@regions, limits => [{name => 'default', %limit, overshoot => '0%'}]);
plan skip_all => $Wan::why if !$wan;

$wan->links(delay_ms => 40, jitter_ms => 10, loss => 0.02);
$wan->start;

# The judge finds no interval above the limit, and the cluster was not merely silent.
sub keeps {
    my ($what, $judged) = @_;
    cmp_ok($judged->{excess}, '<=', 1e-6, "$what: no more than one bucket admits");
    cmp_ok($judged->{admitted}, '>', $judged->{one_bucket} / 4, "$what: and a good part of it")
        or diag explain $judged;
    is((grep { $_->{admitted} == 0 } values %{$judged->{region}}), 0, "$what: in each region");
    return;
}

keeps('twice the limit', $wan->ask(%asked, key => 'even', seconds => 3, asks => {map { $_ => 67 } @regions}));

my $asking = $wan->ask_begin(%asked, key => 'cut', seconds => 4, asks => {map { $_ => 67 } @regions},
                             at_once => {us => 40, ap => 40});
$wan->cut('ap');
ok(Headgate::wait_until(10, sub { $wan->headgate('us', 'info', 'cluster') =~ /^reachable_peers\W+2\b/m }),
   'a region is cut off');
$wan->heal('ap');
keeps('through a cut', $wan->ask_end($asking));
ok(Headgate::wait_until(20, sub { $wan->are_met }), 'the regions meet again');
ok($wan->stop, 'all end in peace');

# What the judge is there to find.
my $apart = Wan::world(regions => ['us', 'eu'], limits => [{name => 'default', %limit}], peers => []);
$_->{settings}{regions} = [{name => $_->{name}, weight => 1}], $_->write_config for $apart->{cluster}->daemons;
$_->spawn for $apart->{cluster}->daemons;
Headgate::wait_until(10, sub { 2 == grep { $apart->headgate($_, 'info') } 'us', 'eu' }) or die 'no daemons';
my $both = $apart->ask(%asked, key => 'apart', seconds => 1, asks => {us => 200, eu => 200},
                       at_once => {us => 100, eu => 100});
cmp_ok($both->{excess}, '>', $capacity / 2, 'two daemons that are alone admit twice the limit');
$apart->stop;

done_testing;
