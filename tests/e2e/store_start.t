#!/usr/bin/perl
# All daemons of a cluster start at once, and one has lost what it kept: nobody gets a fresh month, whatever the order.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Test::More;
use Time::HiRes qw(time);

my $limit = 300;
my $quota = "{id: month, service: shop, by: org, algorithm: quota, limit: $limit, window: year, overshoot: 0}";
my $seed = $ENV{HEADGATE_SEED} // time * 1000 % 1000000;
srand $seed;
note("HEADGATE_SEED=$seed");

# Single tokens of the year that are handed out until all refuse for a while.
sub take_all {
    my (@daemons) = @_;
    my @clients = map { $_->client } @daemons;
    my ($taken, $refused) = (0, 0);
    my $deadline = time + 30 * $Headgate::patience;
    while ($refused < 25 && time < $deadline) {
        my $any = 0;
        for my $client (@clients) {
            $any += grep { ref $_ eq 'ARRAY' && $_->[0] } $client->pipeline(([qw(CHECK org=acme SERVICE shop)]) x 10);
        }
        $taken += $any;
        $refused = $any ? 0 : $refused + 1;
        select undef, undef, undef, 0.02 if !$any; # for what is spent to become known
    }
    return $taken;
}

sub left {
    my ($daemon) = @_;
    return $daemon->client->command(qw(PEEK org=acme SERVICE shop))->[2];
}

sub written {
    my (@daemons) = @_;
    return Headgate::wait_until(10, sub {
        my @waiting = map { $_->client->fields('INFO', 'store')->{store_counters_waiting} } @daemons;
        my @open = map { $_->client->fields('INFO', 'stats')->{open_keys} } @daemons;
        return !grep { $_ } @waiting, @open;
    });
}

my $cluster = Headgate::cluster(interval => '50ms')->start;
my @daemons = $cluster->daemons;
ok($cluster->wait_met, 'three regions have met');
is($daemons[0]->client->command('RULE', 'SET', $quota), 'OK', 'a year for all of them');
ok(Headgate::wait_until(10, sub { 3 == grep { defined $_->client->command(qw(RULE GET shop month)) } @daemons }),
   'which all know');
my $taken = take_all(@daemons);
cmp_ok($taken, '>=', $limit - 10, "they hand out $taken of $limit");
ok(written(@daemons), 'and keep that');

my @lost = ('removed', 'damaged', 'none', 'removed', 'damaged', 'removed');
for my $round (0 .. $#lost) {
    my $loser = $daemons[$round % 3];
    ok($cluster->stop, 'all stop');
    my $file = "$loser->{state_dir}/headgate.db";
    my $kept = "$loser->{settings}{state_dir}";
    unlink glob "$loser->{state_dir}/*" if $lost[$round] ne 'damaged';
    Headgate::write_file($file, 'x' x 8192) if $lost[$round] eq 'damaged';
    $loser->{settings}{state_dir} = 'none' if $lost[$round] eq 'none';
    $loser->write_config;
    my @order = map { $daemons[$_] } (0, 1, 2)[map { ($_ + $round) % 3 } $round % 2 ? (2, 1, 0) : (0, 1, 2)];
    $_->spawn for @order;
    $_->wait_listening(10) for @order;
    ok($cluster->wait_met, "all start at once, the state of $loser->{name} is $lost[$round]");
    $taken += take_all(@daemons);
    cmp_ok($taken, '<=', $limit, "nobody gets a fresh year: $taken of $limit");
    ok(Headgate::wait_until(10, sub { my %views = map { left($_) => 1 } @daemons; return 1 == keys %views }),
       'and all see the same')
        or diag(map { "$_->{name} sees " . left($_) . "\n" } @daemons);
    $loser->{settings}{state_dir} = $kept;
    $loser->write_config;
}
ok($cluster->stop, 'all end as they should') or diag(map { $_->log } @daemons);

done_testing();
