#!/usr/bin/perl
# Rules with real daemons: applied in one region and seen in the others, edited in two at once, whole or not at all;
# every algorithm through the door; the doors of redis-cell and throttlecrab.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Test::More;

my $cluster = Headgate::cluster(interval => '50ms')->start;
ok($cluster->wait_met, 'three regions have met');
my @daemons = $cluster->daemons;
my @clients = map { $_->client } @daemons;
my ($east, $west, $south) = @clients;

# One reply as a flat text: "0 16 15 -1 2", nil as "-".
sub flat { my ($reply) = @_; return ref $reply eq 'ARRAY' ? join ' ', map { flat($_) } @$reply : $reply // '-' }
sub ask { my ($client, @words) = @_; return flat($client->command(@words)) }

# A flattened map (or a list of them) as hashes.
sub rows { return map { {@$_} } @{$_[0]} }

sub everywhere {
    my ($seconds, $condition) = @_;
    return Headgate::wait_until($seconds, sub { return !grep { !$condition->($_) } @clients });
}

# How many of `tries` are allowed.
sub take {
    my ($client, $tries, @words) = @_;
    my @replies = $client->pipeline(map { [@words] } 1 .. $tries);
    return scalar grep { (ref $_ eq 'ARRAY' ? $_->[0] : $_) eq '1' } @replies;
}

# ---- one region changes, all see it ----

my $text = "rules:\n"
    . "- {id: login, service: shop, endpoint: /login, by: ip, algorithm: fixed_window, limit: 5, window: 24h}\n"
    . "- {id: all, service: shop, rate: 1000/m, burst: 50, overshoot: 0}\n";
is(ask($east, qw(RULE APPLY), $text, 'NOTE', 'opening'), 2, 'two rules are applied in one region');
ok(everywhere(5, sub { flat($_[0]->command(qw(RULE GET shop login))) =~ /limit: 5/ }), 'and seen in the others');
ok(everywhere(5, sub { ask($_[0], qw(PEEK ip=1.1.1.1 alice SERVICE shop ENDPOINT /login)) =~ /login$|all$/ }),
    'where they are in force');
my $digest = $east->fields('INFO', 'rules')->{rules_digest};
ok(everywhere(5, sub { $_[0]->fields('INFO', 'rules')->{rules_digest} eq $digest }), 'all have the same book');
my ($row) = rows($west->command(qw(RULE HISTORY shop login)));
is($row->{author} . ': ' . $row->{note}, 'us-east: opening', 'the history says who and why');
cmp_ok(abs($row->{unix_ms} / 1000 - time), '<', 60, 'and when');
is($west->command('RULE', 'GET', 'shop', 'all'), $east->command('RULE', 'GET', 'shop', 'all'), 'one text everywhere');
my $again = $east->command('RULE', 'APPLY', $west->command('RULE', 'GET', 'shop', 'all'));
is($again, 0, 'what is read and applied again changes nothing');

# ---- all or nothing ----

my $bad = "rules:\n- {id: new, service: shop, rate: 5/s}\n- {id: all, service: shop, rate: fast}\n";
like(ask($south, 'RULE', 'APPLY', $bad), qr/^ERR rules:3: .*all.*rate/s, 'a bad rule is named, with its field');
is(ask($south, qw(RULE GET shop new)), '-', 'and nothing of that text is there');
ok(take($east, 10, qw(CHECK ip=2.2.2.2 bob SERVICE shop ENDPOINT /login)) <= 5, 'the window is kept');
my $before = ask($east, qw(PEEK bob SERVICE shop));
is(take($east, 10, qw(CHECK ip=2.2.2.2 bob SERVICE shop ENDPOINT /login COST 5)), 0, 'more than is left is denied');
my ($left_before, $left) = map { (split / /)[2] } $before, ask($east, qw(PEEK bob SERVICE shop));
cmp_ok($left, '>=', $left_before, 'a denial by one rule charges no other');

# ---- two edit the same rule at once ----

$daemons[1]->client->command(qw(DEBUG DROP), $_) for qw(us-east ap-south);
is(ask($east, qw(RULE APPLY), '{id: all, service: shop, rate: 2000/m, burst: 50}', qw(NOTE from-east)), 1,
    'one side of a partition edits a rule');
is(ask($west, qw(RULE APPLY), '{id: all, service: shop, rate: 3000/m, burst: 50}', qw(NOTE from-west)), 1,
    'and so does the other');
like(ask($east, qw(RULE GET shop all)), qr/2000/, 'here the one is in force');
like(ask($west, qw(RULE GET shop all)), qr/3000/, 'there the other');
$west->command(qw(DEBUG HEAL));
ok(Headgate::wait_until(10, sub {
    my %texts = map { ask($_, qw(RULE GET shop all)) => 1 } @clients;
    my %digests = map { $_->fields('INFO', 'rules')->{rules_digest} => 1 } @clients;
    return keys %texts == 1 && keys %digests == 1;
}), 'when they hear each other again, one is in force everywhere');
for my $client (@clients) {
    my %notes = map { $_->{note} => 1 } rows($client->command(qw(RULE HISTORY shop all)));
    ok($notes{'from-east'} && $notes{'from-west'}, 'and both are in the history');
}
is(ask($south, qw(RULE ROLLBACK shop all 3)), 1, 'an earlier version is made the newest');
ok(everywhere(5, sub { ask($_[0], qw(RULE GET shop all)) =~ /1000/ }), 'everywhere');

# ---- every algorithm ----

my $algorithms = <<'END';
rules:
- {id: tb, service: a, endpoint: /tb, rate: 6/h, burst: 20}
- {id: lb, service: a, endpoint: /lb, algorithm: leaky_bucket, rate: 6/h, burst: 20}
- {id: fw, service: a, endpoint: /fw, algorithm: fixed_window, limit: 20, window: 24h}
- {id: sw, service: a, endpoint: /sw, algorithm: sliding_window, limit: 20, window: 24h}
- {id: sl, service: a, endpoint: /sl, algorithm: sliding_log, limit: 20, window: 1h}
- {id: qu, service: a, endpoint: /qu, algorithm: quota, limit: 20, window: year}
- {id: co, service: a, endpoint: /co, algorithm: concurrency, limit: 20, window: 10m}
END
is(ask($east, qw(RULE APPLY), $algorithms), 7, 'a rule of each algorithm');
ok(everywhere(5, sub { ask($_[0], qw(PEEK u SERVICE a ENDPOINT /co)) =~ /co$/ }), 'in all regions');
for my $id (qw(tb lb fw sw sl qu co)) {
    my @line = ('CHECK', 'u', 'SERVICE', 'a', 'ENDPOINT', "/$id");
    my $taken = 0;
    Headgate::for_a_while(3, sub {
        $taken += take($_, 4, @line) for @clients;
        return $taken >= 20 && !grep { $_->command(@line)->[0] } @clients;
    });
    cmp_ok($taken, '>=', 14, "$id: three regions use the limit (took $taken of 20)");
    cmp_ok($taken, '<=', 40, "$id: and exceed it by no more than they may");
}

like(ask($east, qw(EXPLAIN u SERVICE a ENDPOINT /qu)),
    qr/^user=u under rule qu of a: capacity 20 in each window\nrule +quota by user/, 'EXPLAIN of a quota');
like(ask($east, qw(EXPLAIN ip=9.9.9.9 u SERVICE shop ENDPOINT /login)),
    qr/^ip=9.9.9.9 user=u: .*under rule login of shop.*under rule all of shop/s, 'EXPLAIN of two rules');

# ---- giving back ----

is(ask($east, qw(RULE SET), '{id: tokens, service: llm, rate: 1000/h, burst: 1000, overshoot: 300%}'), 'OK',
    'RULE SET');
# A daemon that has just taken the table from a peer gives nothing back for some seconds.
my $tries = 0;
ok(Headgate::wait_until(20, sub {
    my $user = 'early-' . $tries++;
    $east->command('CANCEL', $east->command('RESERVE', $user, qw(SERVICE llm COST 100 TTL 60000))->[6]);
    return $east->command('PEEK', $user, qw(SERVICE llm))->[2] == 1000;
}), 'reservations are given back');
my @reserved = @{$east->command(qw(RESERVE u SERVICE llm COST 300 TTL 60000))};
like($reserved[6], qr/^[0-9a-f]{32}$/, 'RESERVE gives an id');
is(ask($east, 'COMMIT', $reserved[6], 100), 100, 'COMMIT says what it was');
ok(Headgate::wait_until(5, sub { $east->command(qw(PEEK u SERVICE llm))->[2] >= 899 }), 'the rest comes back');
my $rest;
Headgate::in_time(0.2, sub {
    @reserved = @{$east->command(qw(RESERVE u SERVICE llm COST 200 TTL 300))};
    $rest = $east->command(qw(PEEK u SERVICE llm))->[2];
    return $rest <= 701;
});
cmp_ok($rest, '<=', 701, 'what is reserved is taken');
ok(Headgate::wait_until(5, sub { $east->command(qw(PEEK u SERVICE llm))->[2] >= 899 }),
    'what nobody commits comes back');
like(ask($east, 'COMMIT', $reserved[6], 1), qr/^NORESERVATION/, 'then there is no reservation');
is(ask($east, qw(CHECK v SERVICE llm COST 50)) =~ /^1 / && ask($east, qw(REFUND v SERVICE llm COST 500)), 50,
    'REFUND gives at most what was taken');

# ---- the doors of others ----

my ($user, @said) = ('user123');
Headgate::in_time(0.5, sub {
    $user++;
    @said = map { ask($east, 'CL.THROTTLE', $user, qw(0 1 2 1)) } 1, 2;
    return $said[1] =~ /^1 1 0 2/;
});
is($said[0], '0 1 0 -1 2', 'CL.THROTTLE: the only one');
is($said[1], '1 1 0 2 2', 'CL.THROTTLE: limited');
is(ask($west, qw(THROTTLE k 10 100 60)), '1 10 9 5 0', 'THROTTLE');
ok(Headgate::in_time(1, sub {
    $user++;
    $said[0] = ask($east, 'CL.THROTTLE', $user, qw(15 30 60));
    return Headgate::for_a_while(5, sub { ask($south, 'CL.THROTTLE', $user, qw(15 30 60 0)) =~ /^0 16 15 / });
}), 'another region has heard of it');
is($said[0], '0 16 15 -1 2', 'CL.THROTTLE: allowed');

# ---- a canary ----

is(ask($east, qw(RULE APPLY), '{id: can, service: c, rate: 1000/s}'), 1, 'a rule');
ok(everywhere(5, sub { ask($_[0], qw(RULE GET c can)) =~ /1000/ }), 'everywhere');
is(ask($east, qw(RULE APPLY), '{id: can, service: c, rate: 1/h, burst: 1, overshoot: 3}',
       qw(CANARY 50% WATCH 60s THRESHOLD 10%)),
    1, 'a new version for half of the keys');
my $rolled = Headgate::wait_until(20, sub {
    $west->pipeline(map { ['CHECK', "user$_", 'SERVICE', 'c'] } 1 .. 200);
    return !grep { ask($_, qw(RULE GET c can)) !~ /1000/ } @clients;
});
ok($rolled, 'its denials roll it back in all regions');
like(ask($south, qw(RULE HISTORY c can)), qr/rolled back/, 'and the history says so');

# ---- health ----

is(ask($east, qw(RULE SET), '{id: h, service: sick, rate: 100/s, adaptive: {floor: 10%}}'), 'OK', 'an adaptive rule');
ok(everywhere(5, sub { ask($_[0], qw(RULE GET sick h)) =~ /adaptive/ }), 'everywhere');
is(ask($east, qw(HEALTH sick 0.5)), 'OK', 'a service says that it is half well');
ok(everywhere(5, sub { ask($_[0], qw(HEALTH sick)) eq '0.5' }), 'and every region scales its rates');

ok($cluster->stop, 'all leave');
done_testing;
