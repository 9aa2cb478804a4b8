#!/usr/bin/perl
# A document of 10,000 rules with real daemons: requests are answered while it is on its way into force, another change
# comes meanwhile, and a daemon that ends meanwhile has all of it or nothing.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Test::More;

use constant {RULES => 10000, PIECE => 16000};

my $cluster = Headgate::cluster(interval => '50ms', threads => 2)->start; # whoever asks, either may serve
ok($cluster->wait_met, 'three regions have met');
my ($daemon, @others) = $cluster->daemons;
my $client = $daemon->client;

sub document {
    my ($rate) = @_;
    return "rules:\n" . join '', map {
        my $service = int($_ / 12);
        "- {id: r$_, service: s$service, by: " . (qw(user ip tenant))[$_ % 3] . ", rate: $rate/m}\n"
    } 0 .. RULES - 1;
}

# Hands the text over; it is not applied yet.
sub stage {
    my ($to, $text) = @_;
    my $last;
    $last = $to->command('RULE', 'STAGE', substr $text, $_ * PIECE, PIECE) for 0 .. int((length($text) - 1) / PIECE);
    return $last == length $text;
}

sub rate_of {
    my ($of, $rule) = @_;
    my $text = $of->command('RULE', 'GET', 's' . int($rule / 12), "r$rule") // '';
    return "$text" =~ /rate: (\d+)\/m/ ? $1 : 0;
}

# ---- others are served meanwhile ----

my $asker = $daemon->client;
ok(stage($client, document(5)), 'a large document is handed over');
$client->send_raw(Headgate::Client::encode(qw(RULE APPLY STAGED)) . Headgate::Client::encode(qw(RULE GET s0 r0)));
my ($before, $after) = (0, 0);
Headgate::wait_until(30, sub {
    my $rate = rate_of($asker, RULES - 1);
    $before++ if $rate == 0;
    $after++ if $rate == 5;
    return $after > 0;
});
cmp_ok($before, '>', 3, "others are answered while it is in work, $before times");
is($client->reply, RULES, 'who asked for it is answered when it is in force');
like($client->reply, qr/rate: 5\/m/, 'and what was sent behind it is served then');
for my $other (map { $_->client } @others) {
    my ($first, $last);
    my $half = 0;
    ok(Headgate::wait_until(30, sub {
        # The later question is about the rule that came first: it may not be missing where the other is there.
        ($last, $first) = map { ($_ // '') =~ /rate: 5\/m/ ? 1 : 0 } $other->pipeline(
            ['RULE', 'GET', 's' . int((RULES - 1) / 12), 'r' . (RULES - 1)], [qw(RULE GET s0 r0)]);
        $half++ if $last && !$first;
        return $last && $first;
    }), 'another region takes it over');
    is($half, 0, 'as a whole');
}

# ---- another change meanwhile ----

ok(stage($client, document(6)), 'another one');
$client->send_raw(Headgate::Client::encode(qw(RULE APPLY STAGED)));
my $set = $asker->command('RULE', 'SET', '{id: r0, service: s0, by: user, rate: 7/m}');
is($set, 'OK', 'a small change that comes at the same time');
is($client->reply, RULES, 'both are carried out');
like(rate_of($client, 0) . ' ' . rate_of($client, 1), qr/^[67] 6$/, 'whichever was read first');

# ---- a daemon that ends meanwhile ----

sub interrupt {
    my ($signal, $rate, $expected) = @_;
    my $sender = $daemon->client;
    ok(stage($sender, document($rate)), 'once more');
    $sender->send_raw(Headgate::Client::encode(qw(RULE APPLY STAGED)));
    my $ponged = $daemon->client->command('PING'); # the change was taken, or is about to be
    $daemon->signal($signal)->wait_end(20);
    my $reply = eval { $sender->reply } // 'nothing';
    like($reply, $expected, "$signal: it is answered with $reply");
    $daemon->start;
    my $again = $daemon->client;
    ok($cluster->wait_met(20), 'the daemon is back');
    my @rates = map { rate_of($again, $_) } 1, 5000, RULES - 1;
    is("@rates[1, 2]", "$rates[0] $rates[0]", "and has all of it or nothing: @rates");
    is($rates[0], $rate, 'what was answered is in force') if $reply eq RULES;
    return;
}

interrupt('TERM', 8, qr/^(10000|nothing)$/);
interrupt('KILL', 9, qr/^(10000|nothing)$/);

$cluster->stop;
done_testing;
