#!/usr/bin/perl
# GET /metrics of three regions: promtool finds no fault with the page, and peers that come and go are seen in it. The
# alerts and the Grafana dashboard of config/integrations and the config of docs/operations.md are held against it too.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Http;
use JSON::PP qw(decode_json);
use Test::More;

my $alerts = "$Headgate::root/config/integrations/prometheus-alerts.yaml";
my $certs = Headgate::scratch() . '/certs';
Headgate::run(10, Headgate::headgate(), 'certs', '--dir', $certs, 'us-east', 'localhost');
my ($tls_port) = Headgate::free_ports(1);
my %own = ('us-east' => {refusal_log => Headgate::scratch() . '/refusals', central => {address => '127.0.0.1:1'},
                         tls => {certificate => "$certs/us-east.pem", key => "$certs/us-east.key"}});
my $cluster = Headgate::cluster(listen_http => 1, interval => '50ms', nodes => \%own);
my ($east, $west, $south) = map { $cluster->daemon($_) } qw(us-east eu-west ap-south);
$east->{settings}{listen}{clients_tls} = "127.0.0.1:$tls_port";
$east->write_config;
my $page;

sub up { return Http::connect($east)->metrics->{qq(headgate_peer_up{peer="$_[0]",region="$_[0]"})} // 'none' }

subtest 'peers' => sub {
    $cluster->start(20);
    ok($cluster->wait_met(20), 'the peers are there');
    ok(Headgate::wait_until(10, sub { Http::connect($east)->metrics->{headgate_decides} }), 'the daemon decides');
    is(up($_), 1, "$_ is heard") for qw(eu-west ap-south);
    my $metrics = Http::connect($east)->metrics;
    is($metrics->{headgate_share} + 0, 0.334, 'the own share');
    cmp_ok(abs($metrics->{headgate_time_seconds} - time), '<', 60, 'the wall clock');
    is($metrics->{'headgate_peer_share{peer="eu-west",region="eu-west"}'} + 0, 0.333, 'the share of a peer');
    cmp_ok($metrics->{'headgate_peer_lag_seconds{peer="eu-west",region="eu-west"}'}, '<', 10, 'its lag in seconds');
    cmp_ok($metrics->{qq(headgate_peer_$_\_bytes_total{peer="eu-west",region="eu-west"})}, '>', 100, "bytes $_")
        for qw(sent received);
    my $offset = $metrics->{'headgate_peer_clock_offset_seconds{peer="eu-west",region="eu-west"}'};
    cmp_ok(abs($offset // 999), '<', 60, 'the wall clock of a peer on this machine is about the same');
    cmp_ok(abs($metrics->{headgate_clock_rate} - 1), '<', 0.01, 'and the own clock runs as it should');
    is($metrics->{headgate_clock_held_ppm}, 0, 'so time is not slowed');
    is($metrics->{"headgate_$_"}, 3, $_) for qw(peers reachable_peers);
    cmp_ok($metrics->{process_max_fds}, '>', 100, 'descriptors');
    cmp_ok($metrics->{process_resident_memory_bytes}, '>', 1 << 20, 'memory');
};

subtest 'threads' => sub {
    my @clients = map { Http::connect($east) } 1 .. 8;
    my $both = join '', map { "GET $_ HTTP/1.1\r\nHost: a\r\n\r\n" } '/check?user=t', '/metrics';
    $_->send_raw($both x 25) for @clients;
    my %seen;
    for my $client (@clients) {
        $seen{join ' ', map { $client->answer->{status} == 200 ? 'fine' : 'refused' } 1 .. 2}++ for 1 .. 25;
    }
    is($seen{'fine fine'} + ($seen{'refused fine'} // 0), 200, 'many ask for the page while requests are decided');
    my $metrics = Http::connect($east)->metrics;
    is($metrics->{headgate_admitted_requests_total} + $metrics->{headgate_refused_requests_total}, 200,
       'each request is counted once, whichever thread had it');
};

# Requests of that protocol in the histogram, once all that came before were counted.
sub measured { return Http::connect($east)->metrics->{qq(headgate_request_duration_seconds_count{protocol="$_[0]"})} }

subtest 'latency' => sub {
    my $before = measured('resp');
    my $client = $east->client;
    $client->command('CAN_ACCESS', "fast-$_") for 1 .. 30;
    ok(Headgate::wait_until(10, sub { measured('resp') - $before >= 30 }), 'each request is in the histogram');
    is(measured('resp') - $before, 30, 'once');
    my $metrics = Http::connect($east)->metrics;
    my $bucket = sub { $metrics->{qq(headgate_request_duration_seconds_bucket{protocol="$_[0]",le="$_[1]"})} };
    is($bucket->('resp', '+Inf'), $before + 30, 'whose last bucket has all');
    cmp_ok($bucket->('http', '+Inf'), '>', 200, 'and those of HTTP');
    cmp_ok($metrics->{'headgate_request_duration_seconds_sum{protocol="http"}'}, '>', 0, 'take time');
    like($east->client->command('INFO', 'latency'), qr/^latency_resp:requests=\d+,mean_us=\d+,p50_us=\d+,p99_us=/m,
         'INFO has them as well');
};

subtest 'a rule, and a page' => sub {
    is($east->client->command('RULE', 'SET', 'rules: [{id: one, service: shop, by: user, rate: 1/s, burst: 5}]'), 'OK',
       'a rule');
    Http::connect($east)->post('/v1/check', {identifiers => {user => 'a'}, service_id => 'shop'});
    $page = Http::connect($east)->get('/metrics')->{body};
    like($page, qr/^headgate_rule_decisions_total\{service="shop",rule="one",outcome="allowed"\} 1$/m, 'is there');
    like($page, qr/^headgate_metrics_truncated 0$/m, 'and nothing is left out');
    like($page, qr/^headgate_$_ /m, $_) for qw(transport_links store_file_bytes store_failing used_keys);
};

# The queries of the Grafana dashboard, with what Grafana puts in the place of its variables.
my $grafana = decode_json(Headgate::read_file("$Headgate::root/config/integrations/grafana.json"));
my @queries = map { @{$_->{targets}} } @{$grafana->{panels}};
sub filled { return $_[0] =~ s/\$__rate_interval/1m/gr =~ s/\$(?:job|instance)/.*/gr }

# What a query asks for that the page has not: metrics, and labels of them. Prometheus itself adds job and instance.
sub missing {
    my ($query, $legend) = @_;
    my @names = filled($query) =~ /\b((?:headgate|process)_\w+)/g;
    my %label = (job => 1, instance => 1);
    for my $name (@names) {
        $label{$_} = 1 for map { /(\w+)="/g } $page =~ /^$name\{(.*)\} /mg;
    }
    my @used = ($legend =~ /\{\{(\w+)\}\}/g, $query =~ /[{,] ?(\w+)=/g);
    push @used, map { split /, / } $query =~ /by \(([\w, ]+)\)/g;
    return (grep { $page !~ /^$_[ {]/m } @names), (grep { !$label{$_} } @used), @names ? () : 'any metric';
}

subtest 'the Grafana dashboard' => sub {
    cmp_ok(scalar @queries, '>', 15, 'has queries');
    ok(Headgate::wait_until(60, sub {
        $page = Http::connect($east)->get('/metrics')->{body};
        return $page =~ /^headgate_peer_round_trip_seconds/m;
    }), 'all figures are known');
    is(join(', ', missing($_->{expr}, $_->{legendFormat})), '', $_->{expr}) for @queries;
    my @variables = grep { $_->{type} eq 'query' } @{$grafana->{templating}{list}};
    is(join(', ', missing($_->{definition}, '')), '', $_->{definition}) for @variables;
    my @wrong = missing('sum by (rule, colour) (headgate_rules_total)', '{{shape}}');
    is("@wrong", 'headgate_rules_total shape rule colour', 'what is not there would be found');
    my %ids = map { $_->{id} => 1 } @{$grafana->{panels}};
    is(scalar keys %ids, scalar @{$grafana->{panels}}, 'each panel has a number of its own');
};

subtest 'configs that differ' => sub {
    my %own = (b => {limits => [{name => 'default', capacity => 7, rate => '7/s', default => 'true'}]});
    my $two = Headgate::cluster(regions => [qw(a b)], listen_http => 1, interval => '50ms', nodes => \%own)->start(20);
    my @decides;
    ok(Headgate::wait_until(20, sub {
        @decides = map { Http::connect($_)->metrics->{headgate_decides} } $two->daemons;
        return $decides[0] + $decides[1] == 1;
    }), 'one of two daemons decides');
    is(join(' ', map { Http::connect($_)->get('/readyz')->{status} == 200 ? 1 : 0 } $two->daemons), "@decides",
       'the one that is ready');
    ok(Headgate::wait_until(10, sub {
        return 2 == grep { Http::connect($_)->metrics->{headgate_config_differs} } $two->daemons;
    }), 'both see that their configs differ');
    $two->stop;
};

subtest 'the alerts ask for metrics that there are' => sub {
    my @names = Headgate::read_file($alerts) =~ /\b(headgate_[a-z_]+)/g;
    cmp_ok(scalar @names, '>=', 20, 'names');
    like($page, qr/^\Q$_\E[ {]/m, $_) for @names;
};

subtest 'a peer that dies' => sub {
    $south->kill9;
    ok(Headgate::wait_until(20, sub { up('ap-south') eq 0 }), 'is not up');
    is(up('eu-west'), 1, 'the other one is');
    $west->stop;
    ok(Headgate::wait_until(20, sub { up('eu-west') eq 'none' }), 'of one that has left nothing is expected');
};

subtest 'promtool' => sub {
    plan skip_all => 'there is no promtool here' if system('command -v promtool >/dev/null 2>&1') != 0;
    my $place = Headgate::scratch();
    Headgate::write_file("$place/page", $page);
    my ($status, $out, $err) = Headgate::run(60, 'sh', '-c', "promtool check metrics <'$place/page'");
    is("$status$out$err", '0', 'finds no fault with the page');
    Headgate::write_file("$place/page", $page . "# TYPE headgate_wrong counter\nheadgate_wrong 1\n");
    ($status) = Headgate::run(60, 'sh', '-c', "promtool check metrics <'$place/page'");
    isnt($status, 0, 'but with one that has a fault');
    ($status, $out, $err) = Headgate::run(60, 'promtool', 'check', 'rules', $alerts);
    is($status, 0, 'nor with the alerts') or diag($out, $err);
    ($status, $out, $err) = Headgate::run(60, 'promtool', 'test', 'rules',
                                          "$Headgate::root/tests/e2e/prometheus-alerts.test.yaml");
    is($status, 0, 'which come when they should') or diag($out, $err);
    my $number = 0;
    my $recorded = '';
    $recorded .= "- {record: 'panel:" . $number++ . "', expr: '" . filled($_->{expr}) . "'}\n" for @queries;
    Headgate::write_file("$place/panels.yaml", "groups:\n- name: panels\n  rules:\n" . $recorded =~ s/^/  /gmr);
    ($status, $out, $err) = Headgate::run(60, 'promtool', 'check', 'rules', "$place/panels.yaml");
    is($status, 0, 'nor with a query of the Grafana dashboard') or diag($out, $err);
    my $document = Headgate::read_file("$Headgate::root/docs/operations.md");
    my ($config) = $document =~ /^    \$ cat prometheus\.yaml\n((?:    (?!\$).*\n)+)/m;
    Headgate::write_file("$place/prometheus.yaml", $config =~ s{^    }{}gmr =~ s{config/}{$Headgate::root/config/}r);
    ($status, $out, $err) = Headgate::run(60, 'promtool', 'check', 'config', "$place/prometheus.yaml");
    is($status, 0, 'the config of docs/operations.md is one') or diag($out, $err);
};

done_testing;
