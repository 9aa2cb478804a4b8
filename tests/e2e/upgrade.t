#!/usr/bin/perl
# Two builds that speak to each other: three regions go over to a later release and back, one daemon after the other,
# while they are asked for more than their limit. tests/e2e/peers/later-release.patch is that release: it says one
# field more in each batch, one more in each envelope, and messages of one more kind.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use List::Util qw(sum0 max min);
use Test::More;
use Time::HiRes qw(time);

my $later = "$Headgate::build/peers/later-release/headgated";
my $exact = "$Headgate::build/peers/exact-fields/headgated";
plan skip_all => "$later is not built" if !-x $later || !-x $exact;

my @names = ('us-east', 'eu-west', 'ap-south');
my ($capacity, $rate) = (100, 100);
my @limits = ({name => 'default', capacity => $capacity, rate => "$rate/s", overshoot => 0, default => 'true'});

sub stats { my ($daemon) = @_; return $daemon->client->fields('INFO', 'stats') }

sub dropped {
    my ($stats) = @_;
    return sum0 map { $stats->{"messages_$_"} } qw(invalid unreadable unsealed);
}

# ---- one limit, asked for at all daemons; one bucket that sees each admission says what is too much ----

my ($level, $touched, $worst, $admitted, $slowest) = ($capacity, time, 0, 0, 0);

sub load {
    my ($seconds, @daemons) = @_;
    my @clients = map { $_->client } @daemons;
    my $end = time + $seconds;
    while (time < $end) {
        for my $client (@clients) {
            my $asked = time;
            my $taken = sum0 map { $_->[0] } $client->pipeline(map { ['CHECK', 'upgraded'] } 1 .. 4);
            $slowest = max($slowest, time - $asked);
            $level = min($capacity, $level + ($asked - $touched) * $rate) - $taken;
            $touched = $asked;
            $worst = max($worst, -$level);
            $admitted += $taken;
        }
    }
    return;
}

my $cluster = Headgate::cluster(limits => \@limits);
$cluster->start;
ok($cluster->wait_met(20), 'three daemons of this release');

# Each daemon's own key is spent, so that batches of both releases reach both releases.
sub settle {
    my ($what) = @_;
    my %before = map { $_->{name} => stats($_) } $cluster->daemons;
    $_->client->pipeline((['CHECK', "of-$what-$_->{name}"]) x 5) for $cluster->daemons;
    return Headgate::wait_until(20, sub {
        return 3 == grep {
            my $now = stats($_);
            $now->{settled_tokens} >= $before{$_->{name}}{settled_tokens} + 5
                && $now->{applied_tokens} >= $before{$_->{name}}{applied_tokens} + 10
        } $cluster->daemons;
    });
}

sub check {
    my ($what) = @_;
    ok($cluster->wait_met(20), "$what: all are active and hear each other") or diag map { $_->log } $cluster->daemons;
    load(0.5, $cluster->daemons);
    ok(settle($what =~ s/\W+/-/gr), "$what: all apply and acknowledge each other's batches");
    is(sum0(map { dropped(stats($_)) } $cluster->daemons), 0, "$what: no message is called wrong");
    return;
}

sub go_over {
    my ($name, $program, $what) = @_;
    my $daemon = $cluster->daemon($name);
    is($daemon->stop(20), 0, "$what: $name leaves");
    load(0.2, grep { $_ != $daemon } $cluster->daemons);
    $daemon->{program} = $program;
    $daemon->start(20);
    return check($what);
}

check('before');
go_over($names[$_], $later, 'upgraded ' . ($_ + 1) . ' of 3') for 0 .. 1;
my $old = $cluster->daemon('ap-south');
ok(Headgate::wait_until(10, sub { stats($old)->{messages_unknown_kind} > 0 }),
   'the one of this release counts messages of a kind that it does not know');
ok(Headgate::wait_until(10, sub { $cluster->daemon('eu-west')->log =~ /a greeting of us-east/ }),
   'and those of the later one understand them');
unlike($old->log, qr/greeting|version/, 'it says nothing of that');
go_over('ap-south', $later, 'upgraded 3 of 3');
is(sum0(map { stats($_)->{messages_unknown_kind} } $cluster->daemons), 0, 'all know all kinds');
go_over($names[$_], undef, 'downgraded ' . ($_ + 1) . ' of 3') for 0 .. 2;

# The slowest answer blurs the figure, and each daemon that leaves may be told late of what refills.
cmp_ok($worst, '<=', 1 + $rate * $slowest, sprintf 'the limit holds all the while: %.1f beyond it at most', $worst);
cmp_ok($admitted, '>=', $capacity, "and the load goes on: $admitted admitted");
ok($cluster->stop(20), 'all leave with status 0');
unlike(join('', map { $_->log } $cluster->daemons), qr/Sanitizer|Assertion|runtime error/,
       'no sanitizer or assert had anything to say');

# ---- a planted bug: a daemon that wants batches of exactly the fields that it knows ----

my @slow = ({name => 'default', capacity => $capacity, rate => '1/m', default => 'true'}); # refill pays nothing off
my $planted = Headgate::cluster(regions => ['later', 'exact'], limits => \@slow);
$planted->daemon('later')->{program} = $later;
$planted->daemon('exact')->{program} = $exact;
$planted->start;
ok($planted->wait_met(20), 'a daemon that wants the exact number of fields meets a later release');
$planted->daemon('later')->client->pipeline((['CHECK', 'alice']) x 20);
ok(Headgate::wait_until(10, sub { dropped(stats($planted->daemon('exact'))) > 0 }),
   'it calls messages wrong: this test would find it');

done_testing();
