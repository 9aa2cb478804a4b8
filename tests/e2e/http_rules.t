#!/usr/bin/perl
# Rules over HTTP: what is read can be written back, two who write at once do not undo each other's work, and nothing is
# said to be done that is not on the disk.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Http;
use JSON::PP;
use Test::More;

my @limits = ({name => 'default', capacity => 1000000, rate => '1/h', default => 'true'});

sub alone {
    my (%options) = @_;
    my $cluster = Headgate::cluster(regions => ['here'], limits => \@limits, listen_http => 1, %options);
    my $daemon = $cluster->daemon('here')->spawn;
    ok(Headgate::wait_until(20, sub { eval { Http::connect($daemon)->get('/readyz')->{status} == 200 } }),
       'the daemon is ready');
    return ($cluster, $daemon);
}

my ($cluster, $daemon) = alone(threads => 2);
my $path = '/v1/rules/shop/per-user';

subtest 'a request that is the last one' => sub {
    my $client = Http::connect($daemon);
    my $made = $client->put('/v1/rules/last/one', {by => 'user', rate => '1/s'}, 'Connection: close');
    is_deeply([$made->{status}, $made->{head}{connection}], [201, 'close'], 'is answered when the disk has it,');
    ok($client->closed, 'and the connection ends');
    $client = Http::connect($daemon);
    is($client->post('/v1/rules', {rules => []}, 'If-None-Match: *')->{json}{field}, 'If-None-Match',
       'a condition that is not heeded is refused');
    $client->send_raw("DELETE /v1/rules/last/one HTTP/1.0\r\n\r\n");
    is($client->answer->{status}, 200, 'so is one of HTTP/1.0');
    ok($client->closed, 'whose client need not ask for that');
};

subtest 'one rule' => sub {
    my $client = Http::connect($daemon);
    is($client->get($path)->{status}, 404, 'there is none');
    my $made = $client->put($path, {rate => '100/m', burst => 30});
    is($made->{status}, 201, 'one is made');
    is_deeply($made->{json}, {changed => 1, created => 1, removed => 0, unchanged => 0, warning => undef},
              'and told so');
    like($made->{head}{etag}, qr/^"\d+\.[0-9a-f]{16}"$/, 'with its version');
    my $read = $client->get($path);
    is_deeply($read->{json}, {id => 'per-user', service => 'shop', algorithm => 'token_bucket', rate => '100/m',
                              burst => 30}, 'it is read with the keys of rule files');
    is($read->{head}{etag}, $made->{head}{etag}, 'in the same version');
    is($client->request('HEAD', $path)->{head}{etag}, $made->{head}{etag}, 'which HEAD has too');
    my $same = $client->get($path, "If-None-Match: $read->{head}{etag}");
    is_deeply([@{$same}{qw(status body)}], [304, ''], 'who has it is not sent it again');
    my $again = $client->put($path, $read->{json});
    is_deeply([$again->{status}, $again->{json}{unchanged}, $again->{head}{etag}],
              [200, 1, $read->{head}{etag}], 'what was read is written back, and is no change');
    is($daemon->client->command('RULE', 'GET', 'shop', 'per-user'),
       "id: per-user\nservice: shop\nalgorithm: token_bucket\nrate: 100/m\nburst: 30\n", 'RESP sees the same');
    is($client->post('/v1/check', {service_id => 'shop', identifiers => {user => 'a'}})->{json}{limit}, 30,
       'and it is in force');
    my $escaped = $client->put($path, '{"rate":"1\/s","deny":["user=\ud83d\ude00","user=\u00fc"]}');
    is($escaped->{status}, 200, 'JSON may escape all that is no ASCII');
    is_deeply($client->get($path)->{json}{deny}, ["user=\xfc", "user=\x{1f600}"], 'one character by two escapes, too');
    is($client->delete($path)->{json}{changed}, 1, 'it ends');
    is($client->$_($path)->{status}, 404, "$_ finds none") for qw(get delete);
};

subtest 'who comes second' => sub {
    my $client = Http::connect($daemon);
    my $first = $client->put($path, {rate => '1/s'}, 'If-None-Match: *')->{head}{etag};
    is($client->put($path, {rate => '2/s'}, 'If-None-Match: *')->{status}, 412, 'a rule is made once');
    my $second = $client->put($path, {rate => '3/s'}, "If-Match: $first")->{head}{etag};
    isnt($second, $first, 'who knows the version changes it');
    my $late = $client->put($path, {rate => '4/s'}, "If-Match: $first");
    is_deeply([$late->{status}, $late->{head}{'content-type'}], [412, 'application/problem+json'],
              'who knows another does not');
    is($client->put($path, {rate => '4/s'}, "If-Match: W/$second")->{status}, 412, 'a weak one is not enough');
    is($client->delete($path, "If-Match: $first")->{status}, 412, 'nor ends it');
    is($client->get($path)->{json}{rate}, '3/s', 'nothing of that happened');
    is($client->delete($path, "If-Match: $first, $second")->{status}, 200, 'one of several is enough');
    is($client->put($path, {rate => '1/s'}, 'If-Match: *')->{status}, 412, 'no rule has no version');

    # Many at once, over several connections and both threads: of each round one wins.
    my @clients = map { Http::connect($daemon) } 1 .. 8;
    my $etag = $client->put($path, {rate => '1/s'})->{head}{etag};
    my ($rounds, %seen) = (10);
    for my $round (1 .. $rounds) {
        my $number = 0;
        for my $one (@clients) {
            my $body = sprintf '{"rate": "%d/s"}', 100 * $round + $number++;
            $one->send_raw("PUT $path HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nIf-Match: $etag\r\n" .
                           'Content-Length: ' . length($body) . "\r\n\r\n$body");
        }
        my @answers = map { $_->answer } @clients;
        $seen{$_->{status}}++ for @answers;
        ($etag) = map { $_->{status} == 200 ? $_->{head}{etag} : () } @answers;
        last if !defined $etag;
    }
    is_deeply(\%seen, {200 => $rounds, 412 => 7 * $rounds}, 'of eight who change one version, one does');
    is($client->get($path)->{head}{etag}, $etag, 'and knows the new one');
    $client->delete($path);
};

subtest 'only tried' => sub {
    my $client = Http::connect($daemon);
    my $tried = $client->put("$path?dry_run=true", {rate => '1/s'});
    is($tried->{status}, 200, 'a dry run');
    is_deeply($tried->{json}{plan}, [{service => 'shop', id => 'per-user', change => 'create', before => undef,
              after => {id => 'per-user', service => 'shop', algorithm => 'token_bucket', rate => '1/s'}}],
              'tells what would be');
    is($client->get($path)->{status}, 404, 'and nothing is');
    $client->put($path, {rate => '1/s'});
    my $etag = $client->get('/v1/rules')->{head}{etag};
    $tried = $client->post('/v1/rules?dry_run=true',
                           {rules => [{id => 'per-user', service => 'shop', rate => '1/s'},
                                      {id => 'other', service => 'shop', rate => '2/s', endpoint => '/x'}]});
    is_deeply([map { $_->{change} } @{$tried->{json}{plan}}], [qw(none create)], 'so does one of many rules');
    is_deeply([@{$tried->{json}}{qw(changed created unchanged)}], [1, 1, 1], 'with the counts');
    is($client->delete("$path?dry_run=true")->{json}{plan}[0]{change}, 'delete', 'and one of an end');
    is($client->put("$path?dry_run=true", {rate => 'x'})->{status}, 400, 'mistakes are found');
    is($client->put("$path?dry_run=true", {rate => '1/s'}, 'If-None-Match: *')->{status}, 412, 'and who comes second');
    is($client->get('/v1/rules')->{head}{etag}, $etag, 'nothing of it happened');
};

subtest 'many' => sub {
    my $client = Http::connect($daemon);
    my @rules = map { {id => "r$_", service => 'many', endpoint => "/$_", rate => "$_/s", deny => ['user=müller']} }
        1 .. 250;
    my $answer = $client->post('/v1/rules?note=why%20not', encode_json({rules => \@rules}));
    is_deeply([$answer->{status}, $answer->{json}{created}], [200, 250], '250 rules in one change');
    my ($target, @seen) = '/v1/rules/many';
    while (defined $target) {
        my $page = $client->get($target);
        cmp_ok(scalar @{$page->{json}{rules}}, '<=', 100, 'a page');
        push @seen, @{$page->{json}{rules}};
        ($target) = ($page->{head}{link} // '') =~ /^<(.*)>; rel="next"$/;
    }
    is(join(' ', map { $_->{id} } @seen), join(' ', sort map { "r$_" } 1 .. 250), 'pages have each rule once');
    is($seen[0]{deny}[0], 'user=müller', 'texts come as they were');
    my $all = $client->get('/v1/rules/many');
    is($client->post('/v1/rules', $all->{json})->{json}{unchanged}, 100, 'a page is a rule file');
    is($client->post('/v1/rules', $all->{json}, "If-Match: $all->{head}{etag}")->{status}, 200,
       'and written back if nothing has changed');
    $client->put($path, {rate => '9/s'});
    is($client->post('/v1/rules', $all->{json}, "If-Match: $all->{head}{etag}")->{status}, 412, 'else it is not');
    is($daemon->client->command('RULE', 'HISTORY', 'many', 'r1')->[0][19], 'why not', 'the note is kept');
    my $yaml = "rules:\n  - {id: y, service: yaml, rate: 5/m}\n";
    is($client->request('POST', '/v1/rules', $yaml, 'Content-Type: application/yaml')->{json}{created}, 1,
       'a rule file as it is');
};

subtest 'the rules of a service, and no others' => sub {
    my $client = Http::connect($daemon);
    my $file = sub { return {rules => [map { {id => $_, service => 'whole', endpoint => "/$_", rate => '1/s'} } @_]} };
    $client->post('/v1/rules', $file->(qw(a b c)));
    my $tried = $client->post('/v1/rules?prune=true&dry_run=true', $file->(qw(b d)))->{json};
    is_deeply([map { "$_->{id} $_->{change}" } @{$tried->{plan}}], ['b none', 'd create', 'a delete', 'c delete'],
              'a plan that is read first');
    is(scalar @{$client->get('/v1/rules/whole')->{json}{rules}}, 3, 'changes nothing');
    my $done = $client->post('/v1/rules?prune=true', $file->(qw(b d)))->{json};
    is_deeply([@{$done}{qw(changed created removed unchanged)}], [@{$tried}{qw(changed created removed unchanged)}],
              'what it says is then done');
    is(join(' ', map { $_->{id} } @{$client->get('/v1/rules/whole')->{json}{rules}}), 'b d',
       'and nothing else is there');
    is($client->put('/v1/rules/whole/b?prune=true', {rate => '1/s'})->{json}{field}, 'prune', 'not of one rule');
    is($client->post('/v1/rules?prune=true&canary=5%25', $file->('b'))->{status}, 400, 'nor on trial');
};

subtest 'mistakes' => sub {
    my $client = Http::connect($daemon);
    my $problem = sub { my ($answer) = @_; return {map { $_ => $answer->{json}{$_} } qw(field value expected)} };
    my $answer = $client->put('/v1/rules/bad/a', {rate => '100'});
    is($answer->{status}, 400, 'a wrong value');
    is_deeply($problem->($answer), {field => 'rate', value => '100',
              expected => 'a rate such as 100/m, or unlimited'}, 'is named in parts');
    is($answer->{json}{detail}, "body:1: rule bad/a: rate is '100': expected a rate such as 100/m, or unlimited",
       'and in a sentence');
    like($client->put('/v1/rules/bad/a', {rate => '1/s', endpoint => undef})->{json}{detail},
         qr/^body:1: endpoint is null: expected a value/, 'null is no endpoint of that name');
    is($client->put('/v1/rules/bad/a', {rate => '1/s', tiers => {free => 'x'}})->{json}{field}, 'tiers.free',
       'in a map');
    is($client->put('/v1/rules/bad/a', {rate => '1/s', colour => 'red'})->{json}{field}, 'colour', 'an unknown key');
    my @fields = ({rate => undef} => 'rate', {rate => '1/s', tiers => {free => undef}} => 'tiers.free',
                  {rate => '1/s', replaces => ['gone']} => 'replaces', {rate => '1/s', sync => 'central'} => 'sync',
                  {rate => '1/s', overrides_file => 'them.csv'} => 'overrides_file');
    while (my ($rule, $field) = splice @fields, 0, 2) {
        is($client->put('/v1/rules/bad/replaces', $rule)->{json}{field}, $field, "$field, whatever finds it");
    }
    $client->put("/v1/rules/named/$_->{id}", $_) for {id => 'a', rate => '1/s'},
                                                     {id => 'b', rate => '1/s', replaces => ['a']};
    my $named = $client->request('DELETE', '/v1/rules/named/a');
    is($named->{status}, 409, 'a rule that another one names does not end');
    is($named->{json}{field}, undef, 'for no field of its own');
    $client->request('DELETE', "/v1/rules/named/$_") for 'b', 'a';
    my $json = $client->put('/v1/rules/bad/a', {raet => '1/s'})->{json};
    is("$json->{field} $json->{expected}", 'raet rate', 'one that is near another');
    is($client->put('/v1/rules/bad/a', {})->{json}{field}, 'rate', 'a missing one');
    is($client->put('/v1/rules/bad/a', {id => 'b', rate => '1/s'})->{json}{field}, 'id', 'another id than the path');
    is($client->put('/v1/rules/bad/a%20b', {rate => '1/s'})->{json}{field}, 'id', 'an id that cannot be');
    is($client->put('/v1/rules/bad/a?dryrun=1', {rate => '1/s'})->{json}{field}, 'dryrun', 'a name in the query');
    is($client->put('/v1/rules/bad/a', '{"rate": ')->{status}, 400, 'half a body');
    is($client->put('/v1/rules/bad/a', '[]')->{status}, 400, 'a list');
    is($client->request('PUT', '/v1/rules/bad/a', '{}')->{status}, 415, 'no type');
    is($client->put('/v1/rules/bad', {})->{status}, 404, 'half a name');
    is($client->request('PATCH', '/v1/rules/bad/a', '{}')->{head}{allow}, 'GET, HEAD, PUT, DELETE', 'another method');
    is($client->get('/v1/rules?page=2')->{json}{field}, 'page', 'an unknown name');
    is($client->put('/v1/rules/bad/a?watch=1m', {rate => '1/s'})->{status}, 400, 'a watch without a canary');
    is($client->get('/v1/rules/bad')->{json}{rules}[0], undef, 'nothing of it happened');
};

subtest 'a trial' => sub {
    my $client = Http::connect($daemon);
    $client->put('/v1/rules/trial/a', {rate => '10/s'});
    my $answer = $client->put('/v1/rules/trial/a?canary=10%25&watch=1h', {rate => '20/s'});
    is($answer->{json}{changed}, 1, 'a version for a tenth of the keys');
    my %row = @{$daemon->client->command('RULE', 'LIST', 'trial')->[0]};
    is($row{canary_millionths}, 100000, 'is a canary');
};

ok($cluster->stop, 'the daemon ends in peace');

subtest 'a password' => sub {
    my ($locked, $one) = alone(password => 'sesame');
    my $client = Http::connect($one);
    my @say = ('Authorization: Bearer sesame');
    is($client->put($path, {rate => '1/s'})->{status}, 401, 'changes need it');
    is($client->delete($path)->{status}, 401, 'ends too');
    is($client->get('/v1/rules')->{status}, 401, 'and who looks');
    is($client->get($path, @say)->{status}, 404, 'nothing happened');
    is($client->put($path, {rate => '1/s'}, @say)->{status}, 201, 'with it, all is well');
    ok($locked->stop, 'the daemon ends in peace');
};

subtest 'kept' => sub {
    my ($kept, $one) = alone();
    my $client = Http::connect($one);
    my $etag = $client->put($path, {rate => '7/s'})->{head}{etag};
    $one->kill9;
    $one->spawn;
    ok(Headgate::wait_until(20, sub { eval { Http::connect($one)->get('/readyz')->{status} == 200 } }), 'again');
    my $answer = Http::connect($one)->get($path);
    is_deeply([$answer->{json}{rate}, $answer->{head}{etag}], ['7/s', $etag],
              'what was answered is there after kill -9, in the same version');
    ok($kept->stop, 'the daemon ends in peace');
};

done_testing();
