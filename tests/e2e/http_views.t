#!/usr/bin/perl
# What HTTP tells of a cluster and of a key: /v1/nodes and /v1/explain say what NODES and EXPLAIN say.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Http;
use JSON::PP;
use Test::More;

my @limits = ({name => 'default', capacity => 1000000, rate => '1/h', default => 'true'},
              {name => 'five', capacity => 5, rate => '1/h', overshoot => 0});
my $three = Headgate::cluster(limits => \@limits, listen_http => 1, debug => 'true')->start;
ok($three->wait_met, 'three daemons meet');
my ($here, @others) = $three->daemons;
my ($client, $resp) = (Http::connect($here), $here->client);

sub rows { my ($answer) = @_; return map { my %row = @$_; $row{node} => \%row } @$answer }

subtest 'nodes' => sub {
    my $answer;
    ok(Headgate::wait_until(20, sub { # a peer is active a moment before others hear that it decides
        $answer = $client->get('/v1/nodes');
        return $answer->{status} == 200 && 3 == grep { $_->{decides} } @{$answer->{json}{peers}};
    }), 'nodes');
    my %told = rows($resp->command('NODES'));
    my %peers = map { $_->{node} => $_ } @{$answer->{json}{peers}};
    is_deeply([sort keys %peers], [sort keys %told], 'each daemon');
    is($answer->{json}{peers}[0]{self} && $answer->{json}{peers}[0]{node}, $answer->{json}{node}, 'this one first');
    for my $name (sort keys %told) {
        is_deeply([map { "$peers{$name}{$_}" } qw(region address state incarnation)],
                  [map { "$told{$name}{$_}" } qw(region address state incarnation)], "$name is as NODES has it");
        cmp_ok(abs($peers{$name}{share} - $told{$name}{share}), '<', 0.000002, 'with its share');
        is($peers{$name}{decides}, 1, 'and decides');
        like($peers{$name}{clock}, qr/^(?:unmeasured|good)$/, 'and what is known of its clock');
    }
    is($resp->command('DEBUG', 'DROP', $_->{name}, 'both'), 'OK', 'a link breaks') for @others;
    my $reachable = sub { return $client->get('/v1/nodes')->{json}{reachable_peers} };
    ok(Headgate::wait_until(30, sub { $reachable->() == 1 }), 'and is seen');
    $resp->command('DEBUG', 'HEAL');
    ok(Headgate::wait_until(30, sub { $reachable->() == 3 }), 'until it heals');
};

subtest 'a start that does not end' => sub {
    my $lonely = Headgate::cluster(limits => \@limits, listen_http => 1, join_timeout => 0);
    my $daemon = $lonely->daemon('us-east')->start;
    my $says = 'an active peer, or for all to start anew, but eu-west is not heard, and join_timeout is 0: start it, '
        . 'mend its links, or forget it';
    is(Http::connect($daemon)->get('/v1/nodes')->{json}{waits_for}, $says, '/v1/nodes says what it waits for');
    is($daemon->client->fields('INFO', 'cluster')->{waits_for}, $says, 'so does INFO');
    my (undef, $table) = $daemon->headgate('nodes');
    like($table, qr/^us-east waits for \Q$says\E$/m, 'and the operator reads it');
    my $line = qr/us-east stays joining and refuses all: it waits for \Q$says\E$/m;
    ok(Headgate::wait_until(20, sub { $daemon->log =~ $line }), 'as does whoever reads the log');
    is($client->get('/v1/nodes')->{json}{waits_for}, '', 'who has joined waits for nothing');
    ok($lonely->stop, 'it ends in peace');
};

subtest 'an explanation' => sub {
    my $fresh = $client->get('/v1/explain?user=ann&rule=five');
    is_deeply([@{$fresh->{json}}{qw(allowed rule limit remaining node)}], [JSON::PP::true, 'five', 5, 5, $here->{name}],
              'of a key that nobody used');
    is($fresh->{json}{rules}[0]{in_use}, 0, 'which is told');
    is_deeply($client->get('/v1/explain?user=ann&rule=five')->{json}, $fresh->{json}, 'and asking takes nothing');
    my $explain = sub { return $client->get('/v1/explain?user=ann&rule=five')->{json} };
    my ($spent, $answer, $rule, $text) = (0);
    # Grants of peers are on their way for some round trips after a refusal: until two answers are the same.
    ok(Headgate::wait_until(30, sub {
        $spent += $client->get('/check?user=ann&rule=five')->{status} == 200;
        $answer = $explain->();
        $text = $resp->command('EXPLAIN', 'user=ann', 'RULE', 'five');
        $rule = $answer->{rules}[0];
        return 0 if $answer->{allowed} || $rule->{unsettled} >= 0.001;
        return $rule->{settled} == $explain->()->{rules}[0]{settled};
    }), 'tokens are spent until nothing more is allowed, though everybody knows of all');
    like($rule->{reason}, qr/^(?:capacity|share)$/, 'then the reason is told');
    like($text, qr/^one more now      \Q$rule->{says}\E$/m, 'in the words of EXPLAIN');
    ok((grep { $_->{name} eq $rule->{last_spender} } $three->daemons), 'who spent last is told: a grant is a spend');
    # What peers have granted is charged before it is used, and the part of it that is no whole token is not told.
    my $known = $rule->{settled} + $rule->{granted} + $spent;
    ok($known > 4 && $known < 5.1, "and how many tokens are left: $known of 5, with those that are used or granted");
    is($client->get('/v1/explain?user=ben&rule=five&cost=6')->{json}{rules}[0]{reason}, 'too_large', 'a cost');
};

subtest 'elsewhere' => sub {
    my $rules = 'rules: [' . join(',', map { "{id: r$_, service: far, endpoint: /$_, by: user, rate: 1/h, burst: 3}" }
        1 .. 30) . ', {id: listed, service: far, endpoint: /l, by: user, rate: 1/h, deny: [cat], overshoot: 3}]';
    is($resp->command('RULE', 'SET', $rules), 'OK', 'rules of another endpoint');
    my $asks = {service_id => 'far', identifiers => {user => 'cat'}};
    $client->post('/v1/check', {%$asks, endpoint => "/$_"}) for 1 .. 30;
    my $answer = $client->get('/v1/explain?user=cat')->{json};
    is(scalar @{$answer->{elsewhere}}, 16, 'some of the rules whose keys are in use');
    is_deeply([@{$answer->{looked_at}}{qw(looked rules concerned in_use)}], [31, 31, 31, 31], 'and how many there are');
    my ($listed) = grep { $_->{rule} eq 'listed' } @{$answer->{elsewhere}};
    is_deeply([@{$listed}{qw(service_id allowed reason)}], ['far', JSON::PP::false, 'deny_list'], 'a list that denies');
    my ($counted) = grep { $_->{rule} eq 'r1' } @{$answer->{elsewhere}};
    is($counted->{endpoint}, '/1', 'a rule that counts');
    $answer = $client->get('/v1/explain?user=cat&service_id=far&endpoint=/l')->{json};
    is_deeply([$answer->{allowed}, $answer->{rules}[0]{why}], [JSON::PP::false, 'deny list'], 'asked about itself');
};

subtest 'mistakes' => sub {
    is($client->get('/v1/explain')->{json}{detail}, 'no identifier: expected one at least, e.g. user=alice', 'nobody');
    is($client->get('/v1/explain?user=a&service_id=none')->{json}{field}, 'service_id', 'an unknown service');
    is($client->get('/v1/explain?user=a&denied=403')->{json}{field}, 'denied', 'what has no meaning here');
    is($client->post('/v1/explain?user=a', {})->{status}, 405, 'another method');
};

ok($three->stop, 'they end in peace');
done_testing();
