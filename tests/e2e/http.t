#!/usr/bin/perl
# HTTP by real sockets: what each path answers, and clients that are slow, greedy, wrong or up to something.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Http;
use IO::Select;
use Test::More;

my @limits = ({name => 'default', capacity => 1000000, rate => '1/h', default => 'true'},
              {name => 'five', capacity => 5, rate => '1/m', overshoot => 0});

sub alone {
    my (%options) = @_;
    my $cluster = Headgate::cluster(regions => ['here'], limits => \@limits, listen_http => 1, %options);
    my $daemon = $cluster->daemon('here')->spawn;
    ok(Headgate::wait_until(10, sub { eval { Http::connect($daemon)->get('/readyz')->{status} == 200 } }),
       'the daemon is ready');
    return ($cluster, $daemon);
}

my ($cluster, $daemon) = alone(http => {request_headers => '"ip=X-Real-IP, user=X-User, endpoint=X-Original-URI"'});

subtest 'decisions' => sub {
    my $client = Http::connect($daemon);
    my $asks = {identifiers => {user => 'ann'}, rule => 'five', cost => 2};
    my $answer = $client->post('/v1/check', $asks);
    is($answer->{status}, 200, 'allowed');
    is_deeply($answer->{json}, {allowed => JSON::PP::true, rule => 'five', limit => 5, remaining => 3,
                                available_now => 3, retry_after_ms => 0,
                                reset_after_ms => 120000, window_ms => 300000}, 'the figures');
    is_deeply([@{$answer->{head}}{map { "x-ratelimit-$_" } qw(limit remaining reset)}], [5, 3, 120],
              'in the head as well');
    is($client->post('/v1/peek', $asks)->{json}{remaining}, 3, 'a peek takes nothing');
    is($client->post('/v1/check', $asks)->{json}{remaining}, 1, 'a check does');
    $answer = $client->post('/v1/check', $asks);
    is($answer->{status}, 429, 'denied');
    my $ms = $answer->{json}{retry_after_ms};
    ok($ms > 0 && $answer->{head}{'retry-after'} == int(($ms + 999) / 1000), 'with the time to come again, rounded up');
    is($daemon->client->command('PEEK', 'user=ann', 'RULE', 'five')->[2], 1, 'RESP sees the same');
    is($client->post('/v1/refund', $asks)->{json}{refunded}, 2, 'a refund');
    is($client->post('/v1/reset', {identifiers => {user => 'ann'}, rule => 'five'})->{json}{reset}, 1, 'a reset');
    $answer = $client->post('/v1/reserve', {%$asks, ttl_ms => 60000});
    my $id = $answer->{json}{reservation};
    like($id, qr/^[0-9a-f]{32}$/, 'a reservation');
    is_deeply($client->post('/v1/commit', {reservation => $id, cost => 1})->{json}, {charged => 1}, 'is committed');
    $id = $client->post('/v1/reserve', {%$asks, ttl_ms => 60000})->{json}{reservation};
    is($client->post('/v1/cancel', {reservation => $id})->{body}, qq({"cancelled":true}\n), 'or cancelled');
    $answer = $client->post('/v1/check', [map { {identifiers => {user => "b$_"}, rule => 'five', cost => $_} } 1 .. 6]);
    is($answer->{status}, 200, 'a batch is answered');
    is(join(' ', map { $_->{allowed} ? 1 : 0 } @{$answer->{json}}), '1 1 1 1 1 0', 'in order');
    my $asks_zoe = {identifiers => {user => 'zoe'}, rule => 'five'};
    is($client->post('/v1/check', [$asks_zoe, {}])->{json}{field}, '[1].identifiers',
       'a batch with a wrong one is refused');
    is($client->post('/v1/peek', $asks_zoe)->{json}{remaining}, 5, 'and takes nothing');
};

subtest 'gateways' => sub {
    my $client = Http::connect($daemon);
    is($client->get('/check?user=g&rule=five')->{status}, 200, "token $_") for 1 .. 5;
    is($client->get('/check?user=g&rule=five')->{status}, 429, 'the sixth is refused');
    is($client->get('/check?user=g&rule=five&denied=403')->{status}, 403, 'by 403 for whoever wants it');
    is($client->request('HEAD', '/check?user=g&rule=five')->{status}, 429, 'HEAD');
    is($client->post('/check?user=g&rule=five', 'anything')->{status}, 429, 'POST');
    is($client->get('/check?rule=five', 'X-User: g')->{status}, 429, 'the client in a field of the head');
    is($client->get('/check?user=h&rule=five', 'X-User: g')->{status}, 200, 'the query goes first');
    is($client->request('DELETE', '/check/any/path?user=h', undef, 'X-User: k')->{status}, 200,
       'a path below, by any method');
    is($client->request('GET', '/check/any/path?user=h')->{json}{detail},
       'no identifier: expected one at least, e.g. user=alice', 'whose query is the client\'s');
};

subtest 'paths and methods' => sub {
    my $client = Http::connect($daemon);
    is($client->get('/healthz')->{body}, "alive\n", 'alive');
    is($client->get('/readyz')->{json}{state}, 'active', 'ready');
    is($client->get('/v1/nothing')->{status}, 404, 'no such path');
    my $answer = $client->get('/v1/check');
    is_deeply([$answer->{status}, $answer->{head}{allow}], [405, 'POST'], 'a wrong method');
    is($answer->{head}{'content-type'}, 'application/problem+json', 'is a problem');
    is($client->post('/v1/check', '{"identifiers": {"user": "a"}, "cost": "many"}')->{json}{field}, 'cost',
       'that names its field');
    is($client->post('/v1/check', '{"identifiers": ')->{status}, 400, 'half a body');
    is($client->get('/healthz')->{status}, 200, 'all on one connection');
    $client = Http::connect($daemon);
    is($client->get('/healthz', 'Connection: close')->{head}{connection}, 'close', 'whoever asks for it');
    ok($client->closed, 'is closed');
    $client = Http::connect($daemon);
    $client->send_raw("GET /healthz HTTP/1.0\r\n\r\n");
    is($client->answer->{status}, 200, 'HTTP/1.0');
    ok($client->closed, 'is closed without being asked');
};

subtest 'bodies' => sub {
    my $client = Http::connect($daemon);
    my $body = '{"identifiers": {"user": "c"}}';
    my $head = "POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n";
    $client->send_raw("${head}Expect: 100-continue\r\nContent-Length: " . length($body) . "\r\n\r\n");
    is($client->answer->{status}, 100, 'the client is told to go on');
    $client->send_raw($body);
    is($client->answer->{status}, 200, 'and then answered');
    $client->send_raw("${head}Transfer-Encoding: chunked\r\n\r\n" .
                      join('', map { sprintf "%x\r\n%s\r\n", length, $_ } $body =~ /(.{1,7})/gs) . "0\r\n\r\n");
    is($client->answer->{status}, 200, 'chunks');
    $client->send_raw("${head}Content-Length: 70000\r\nExpect: 100-continue\r\n\r\n");
    is($client->answer->{status}, 413, 'a body that is too long is refused before it is sent');
    ok($client->closed, 'and the connection ends');
    $client = Http::connect($daemon);
    $client->send_raw("${head}Transfer-Encoding: chunked\r\n\r\n" . "8000\r\n" . 'x' x 0x8000 . "\r\n");
    $client->send_raw("8000\r\n" . 'x' x 0x8000 . "\r\n8000\r\n" . 'x' x 0x4000);
    is($client->answer->{status}, 413, 'so is one in chunks');
    $client = Http::connect($daemon);
    $client->send_raw("GET / HTTP/1.1\r\nHost: a\r\nX: " . 'x' x 20000);
    is($client->answer->{status}, 431, 'a head that is too long');
    $client = Http::connect($daemon);
    is($client->get('/check?user=' . 'x' x 9000)->{status}, 414, 'a target');
};

subtest 'in pieces' => sub {
    my $body = '{"identifiers":{"user":"d"}}';
    my $request = "POST /v1/peek HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: " .
        length($body) . "\r\n\r\n$body";
    my $wrong = 0;
    my $client = Http::connect($daemon);
    for my $cut (1 .. length($request) - 1) {
        $client->send_raw(substr $request, 0, $cut);
        $client->send_raw(substr $request, $cut);
        $wrong++ if $client->answer->{status} != 200;
    }
    is($wrong, 0, 'a request that is cut at any byte is answered');
    $client->send_raw($_) for split //, $request;
    is($client->answer->{status}, 200, 'and one that comes byte by byte');
    ok(!IO::Select->new($client->{socket})->can_read(0), 'once');
};

subtest 'pipelines' => sub {
    my $client = Http::connect($daemon);
    $client->send_raw(join '', map { "GET /check?user=p&rule=five HTTP/1.1\r\nHost: a\r\n\r\n" } 1 .. 1000);
    my %seen;
    $seen{$client->answer->{status}}++ for 1 .. 1000;
    is_deeply(\%seen, {200 => 5, 429 => 995}, '1,000 requests in one piece are answered, five allowed');
    $client->send_raw("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGET /nix HTTP/1.1\r\nHost: a\r\n\r\n" .
                      "POST /v1/peek HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" .
                      "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    is(join(' ', map { $client->answer->{status} } 1 .. 3), '200 404 415', 'answers have the order of requests');
    ok($client->closed, 'what follows the last one is not answered');
};

subtest 'what two may read differently' => sub {
    my $hidden = "GET /check?user=smuggled&rule=five HTTP/1.1\r\nHost: a\r\n\r\n";
    my %heads = ('both lengths' => "Content-Length: 4\r\nTransfer-Encoding: chunked",
                 'both, the other way round' => "Transfer-Encoding: chunked\r\nContent-Length: 4",
                 'two lengths' => "Content-Length: 0\r\nContent-Length: 4",
                 'a blank before the colon' => "Transfer-Encoding : chunked",
                 'another coding' => 'Transfer-Encoding: gzip, chunked, identity',
                 'a folded line' => "X: y\r\n Content-Length: 4",
                 'a line that ends in LF' => "X: y\nContent-Length: 4");
    for my $name (sort keys %heads) {
        my $client = Http::connect($daemon);
        $client->send_raw("POST /v1/check HTTP/1.1\r\nHost: a\r\n$heads{$name}\r\n\r\n0\r\n\r\n$hidden");
        is($client->answer->{status}, 400, $name);
        ok($client->closed, 'and the connection ends');
    }
    my $client = Http::connect($daemon);
    is($client->get('/check?user=smuggled&rule=five')->{json}{remaining}, 4, 'nothing that was hidden was served');
    for my $nonsense ("hello\r\n", "*1\r\n\$4\r\nPING\r\n", "\x16\x03\x01\x02\x00\x01", "GET / HTTP/1.1\r\n\r\n",
                      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") {
        my $other = Http::connect($daemon);
        $other->send_raw($nonsense);
        my $answer = $other->answer;
        is($answer->{status}, 400, 'nonsense is answered');
        ok($other->closed, 'and closed');
        next if $nonsense !~ /^PRI/;
        like($answer->{json}{detail}, qr/listen\.grpc/, 'and a client of gRPC hears of its port');
    }
};

subtest 'metrics' => sub {
    my ($client, $resp) = (Http::connect($daemon), $daemon->client);
    my $answer = $client->get('/metrics');
    is($answer->{head}{'content-type'}, 'text/plain; version=0.0.4; charset=utf-8', 'a page for Prometheus');
    is($resp->command('RULE', 'SET', 'rules: [{id: two, service: eyes, by: user, rate: 1/h, burst: 2, overshoot: 0}]'),
       'OK', 'a rule');
    my $before = $client->metrics;
    my $asks = {identifiers => {user => 'secretly'}, service_id => 'eyes'};
    is(join(' ', map { $client->post('/v1/check', $asks)->{status} } 1 .. 5), '200 200 429 429 429', 'five requests');
    my $after = $client->metrics;
    my $moved = sub { my ($name) = @_; return $after->{$name} - $before->{$name} };
    is($moved->('headgate_admitted_requests_total'), 2, 'requests that were allowed are counted');
    is($moved->('headgate_refused_requests_total'), 3, 'and those that were denied');
    is($moved->(qq(headgate_rule_decisions_total{service="eyes",rule="two",outcome="$_->[0]"})), $_->[1],
       "by rule: $_->[0]") for [allowed => 2], [denied => 3];
    is($moved->('headgate_http_requests_total'), 6, 'HTTP requests, the first page among them');
    unlike($client->get('/metrics')->{body}, qr/secretly/, 'no identity is told');
    for my $section (qw(stats table)) {
        my (@rows, %told, %same);
        Headgate::wait_until(10, sub { # What the daemon publishes between two answers stands in the later one only.
            my $info = $resp->fields('INFO', $section);
            my $page = $client->metrics;
            @rows = grep { !/_(?:ms|ns)$/ } sort keys %$info;
            %told = map { $_ => $info->{$_} } @rows;
            %same = map { $_ => $page->{"headgate_$_"} // $page->{"headgate_${_}_total"} } @rows;
            return !grep { ($same{$_} // '') ne $told{$_} } @rows;
        });
        cmp_ok(scalar @rows, '>=', 7, "rows of INFO $section");
        is_deeply(\%same, \%told, 'are the same on the page');
    }
};

ok($cluster->stop, 'the daemon ends in peace');

subtest 'who takes too long' => sub {
    my ($slow, $one) = alone(clients => {request_timeout => '1s', idle_timeout => '2s'}, threads => 1);
    # Who is not served in two seconds comes again, since the machine may be that slow.
    my ($half, $status);
    Headgate::wait_until(10, sub {
        $half = Http::connect($one);
        return $status = eval { $half->send_raw("GET /healthz HTTP/1.1\r\nHost: a\r\n")->answer->{status} };
    });
    is($status, 408, 'half a request ends with 408');
    ok($half->closed, 'and the connection');
    my $drip = Http::connect($one);
    ok(Headgate::wait_until(10, sub {
        return !eval { $drip->send_raw('x') } || IO::Select->new($drip->{socket})->can_read(0);
    }), 'nor does it help to send byte after byte');
    my $idle;
    ok(Headgate::wait_until(10, sub {
        $idle = Http::connect($one);
        return (eval { $idle->get('/healthz')->{status} } // 0) == 200;
    }), 'whoever was served');
    ok($idle->closed, 'and says no more is closed as well');
    ok($slow->stop, 'the daemon ends in peace');
};

subtest 'too many' => sub {
    my ($full, $one) = alone(max_connections => 4, threads => 1);
    my @clients = map { Http::connect($one) } 1 .. 4;
    ok(Headgate::wait_until(10, sub {
        my @served = grep { my $client = $_; eval { $client->get('/healthz')->{status} == 200 } } @clients;
        push @clients, Http::connect($one) if (@clients = @served) < 4;
        return @served == 4;
    }), 'as many as there may be');
    my $more = eval { Http::connect($one) };
    my $answer = eval { $more->answer };
    is($answer->{status} // 0, 503, 'one more is told so');
    ok($full->stop, 'the daemon ends in peace');
};

subtest 'a password' => sub {
    # However slow it is, who guesses is not closed for having said no right password for long.
    my ($locked, $one) = alone(password => 'sesame', threads => 1, clients => {auth_timeout => '5m'});
    my $client = Http::connect($one);
    my $answer = $client->get('/check?user=a');
    is($answer->{status}, 401, 'without it');
    like($answer->{head}{'www-authenticate'}, qr/realm/, 'one is told how to say it');
    is($client->get('/check?user=a', 'Authorization: Bearer sesame')->{status}, 200, 'with it');
    is($client->get('/check?user=a', 'Authorization: Basic ZGVmYXVsdDpzZXNhbWU=')->{status}, 200, 'in the other form');
    is($client->get('/check?user=a')->{status}, 401, 'each request says it');
    is($client->get('/metrics')->{status}, 401, 'for figures as well');
    is($client->get('/metrics', 'Authorization: Bearer sesame')->{status}, 200, 'which come with it');
    my $guesser = Http::connect($one);
    $guesser->send_raw("GET /check?user=a HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer guess\r\n\r\n" x 8);
    is($client->get('/check?user=a', 'Authorization: Bearer sesame')->{status}, 200,
       'others are served while a guess waits');
    is($guesser->answer->{status}, 401, 'wrong') for 1 .. 5;
    ok($guesser->closed, 'the fifth wrong one ends the connection');
    my $info = $one->client;
    is($info->command('AUTH', 'sesame'), 'OK', 'INFO');
    is($info->fields('INFO', 'clients')->{auth_failures} // $info->fields('INFO')->{auth_failures}, 5, 'counts them');
    like($one->log, qr/wrong password from 127\.0\.0\.1:\d+/, 'the log names the address');
    $guesser = Http::connect($one);
    is($guesser->get('/check?user=a', 'Authorization: Bearer guess', 'Connection: close')->{status}, 401,
       'a guess in the last request of a connection');
    ok($guesser->closed, 'is answered late, and ends it');
    ok($locked->stop, 'the daemon ends in peace');
};

subtest 'threads and peers' => sub {
    my $three = Headgate::cluster(limits => \@limits, listen_http => 1, threads => 2)->start;
    ok($three->wait_met, 'three daemons meet');
    my @daemons = $three->daemons;
    my $took = 0;
    for my $one ((@daemons) x 4) {
        my @clients = map { Http::connect($one) } 1 .. 4;
        $took += $_->get('/check?user=t&rule=five')->{status} == 200 for @clients;
    }
    cmp_ok($took, '<=', 5, 'over all threads and regions no more than the limit is taken');
    cmp_ok($took, '>', 0, 'and something is');
    ok($three->stop, 'they end in peace');
};

subtest 'not ready' => sub {
    my $pair = Headgate::cluster(limits => \@limits, listen_http => 1, join_timeout => '60s', state_dir => 'none');
    my $one = $pair->daemon('us-east')->spawn;
    ok(Headgate::wait_until(10, sub { eval { Http::connect($one)->get('/healthz')->{status} == 200 } }), 'alive');
    my $client = Http::connect($one);
    my $answer = $client->get('/readyz');
    is($answer->{status}, 503, 'whoever does not decide yet is not ready');
    is($answer->{json}{state}, 'joining', 'and says why');
    $_->spawn for grep { $_ ne $one } $pair->daemons;
    ok(Headgate::wait_until(20, sub { $client->get('/readyz')->{status} == 200 }), 'with its peers it is');
    ok($pair->stop, 'the daemon ends in peace');
};

done_testing();
