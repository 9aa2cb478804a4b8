#!/usr/bin/perl
# Three real daemons give every token back once: a refund asked of each, on both sides of a cut, and while a reservation
# holds the tokens. No overshoot is declared, so that whatever is minted shows in what is admitted.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use List::Util qw(sum0);
use Test::More;

my @names = ('us-east', 'eu-west', 'ap-south');
my $capacity = 100;
my $cluster = Headgate::cluster(
    limits => [{name => 'default', capacity => $capacity, rate => '1/h', overshoot => 0, default => 'true'}]);
$cluster->start;
ok($cluster->wait_met(10), 'three daemons see each other') or diag map { $_->log } $cluster->daemons;
my %client = map { $_ => $cluster->daemon($_)->client } @names;

# All daemons have settled a key, and see so many tokens less than the capacity.
sub all_settled {
    my ($key, $taken) = @_;
    return Headgate::wait_until(10, sub {
        for my $name (@names) {
            my $text = $client{$name}->command('EXPLAIN', $key);
            return 0 if $text !~ /unsettled\s+0\.000/ || $text !~ /settled\s+(-?[\d.]+)/;
            return 0 if abs($capacity - $taken - $1) > 0.9;
        }
        return 1;
    });
}

sub take {
    my ($name, $key, $count) = @_;
    return sum0 map { $_->[0] } $client{$name}->pipeline(map { ['CHECK', $key] } 1 .. $count);
}

# All that can be had: until nobody gets any for a second.
sub take_all {
    my ($key) = @_;
    my ($taken, $last) = (0, time);
    until (time - $last > 1) {
        my $more = sum0 map { take($_, $key, 10) } @names;
        $taken += $more;
        $last = time if $more;
    }
    return $taken;
}

sub refunds { my ($key, $tokens) = @_; return map { $client{$_}->command('REFUND', $key, 'COST', $tokens) } @names }

# ---- after a start ----

# A daemon that has just taken the table from a peer gives nothing back for some seconds: what it sees may be granted.
for my $name (@names) {
    my $tries = 0;
    my $gives = sub {
        my $key = "start-$name-" . $tries++;
        return take($name, $key, 1) && $client{$name}->command('REFUND', $key);
    };
    ok(Headgate::wait_until(20, $gives), "$name gives tokens back");
}

# ---- at each of three regions ----

is(take('us-east', 'each', 20), 20, '20 are taken at us-east');
ok(all_settled('each', 20), 'and known everywhere');
is_deeply([refunds('each', 20)], [20, 0, 0], 'each daemon is asked to refund 20: only us-east does');
is_deeply([refunds('each', 20)], [0, 0, 0], 'and once');
my %docs = @{$client{'us-east'}->command('COMMAND', 'DOCS', 'refund')};
like({@{$docs{refund}}}->{summary}, qr/admitted itself, once: 0 for those of other nodes/, 'as its help says');
for my $page ('README.md', 'docs/protocol.md') {
    my $text = Headgate::read_file("$Headgate::root/$page") =~ s/\s+/ /gr;
    like($text, qr/`REFUND.{0,900}(does not pass it on|Nothing is forwarded)/, "and $page");
}
my $taken = take_all('each');
cmp_ok($taken, '<=', $capacity, "$taken of $capacity are admitted besides");
cmp_ok($taken, '>=', $capacity / 2, 'and not few');

# ---- on both sides of a cut ----

my $spent = sum0 map { take($_, 'cut', 12) } @names;
ok(all_settled('cut', $spent), "$spent are taken, and known everywhere");
is($client{'ap-south'}->command('DEBUG', 'DROP', $_, 'both'), 'OK', "ap-south is cut off from $_") for @names[0, 1];
is((sum0 refunds('cut', $capacity)), $spent,
   "both sides are asked to refund $capacity: together they give the $spent back");
$taken = sum0 map { take($_, 'cut', $capacity) } @names;
is($client{'ap-south'}->command('DEBUG', 'HEAL'), 'OK', 'the cut heals');
$taken += take_all('cut');
is((sum0 refunds('unspent', $capacity)), 0, 'of a key that nobody spent nothing comes back');
cmp_ok($taken, '<=', $capacity, "$taken of $capacity are admitted, during the cut and after it");

# ---- while a reservation holds the tokens ----

my @reserved = @{$client{'us-east'}->command('RESERVE', 'held', 'TTL', 60000, 'COST', 20)};
is($reserved[0], 1, '20 are reserved at us-east');
ok(all_settled('held', 20), 'and known everywhere');
is_deeply([refunds('held', 20)], [0, 0, 0], 'nobody refunds them');
is($client{$_}->command('RESET', 'held'), 0, "nor does a reset at $_ give them back") for @names;
is($client{'us-east'}->command('CANCEL', $reserved[6]), 1, 'they are cancelled');
is_deeply([refunds('held', 20)], [0, 0, 0], 'after that there is nothing to refund');
$taken = take_all('held');
cmp_ok($taken, '<=', $capacity, "$taken of $capacity are admitted besides");

done_testing;
