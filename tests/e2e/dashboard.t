#!/usr/bin/perl
# The page at `/` in Chromium: three daemons, a partition, a refused key, a keyboard, a small screen, a password.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Http;
use Test::More;

my $scratch = Headgate::scratch();

# A copy of tests/e2e/browser in which playwright-core is installed; skips the test where that or Chromium cannot be.
sub browser {
    my $program = $ENV{CHROMIUM} // '/usr/bin/chromium';
    plan skip_all => "no Chromium at $program" if !-x $program;
    plan skip_all => 'no node and npm' if system('command -v node npm >/dev/null') != 0;
    system('cp', '-r', "$FindBin::Bin/browser", "$scratch/browser") == 0 or die;
    my $kept = $ENV{HEADGATE_NODE_MODULES} // '';
    symlink $kept, "$scratch/browser/node_modules" if -d $kept;
    my ($status, $out, $err) = -d $kept ? (0)
        : Headgate::run(120, 'sh', '-c', "cd '$scratch/browser' && npm ci --no-audit --no-fund");
    my $why = ($err // '') =~ /(E[A-Z]{3,}\w*)/ ? $1 : "status $status";
    plan skip_all => "npm cannot install playwright-core: $why" if $status != 0;
    ($status, $out) = Headgate::run(240, 'sh', '-c', "cd '$scratch/browser' && node check.js");
    plan skip_all => 'Chromium cannot start: ' . substr $out =~ s/\s+/ /gr, 0, 300 if $status != 0;
    return "$scratch/browser";
}
my $browser = browser();

my @limits = ({name => 'default', capacity => 100, rate => '1/h', default => 'true'});
my $cluster = Headgate::cluster(limits => \@limits, listen_http => 1, interval => '100ms', remember_names => 'true');
$cluster->start(60)->wait_met(120) or die 'the daemons did not meet';
my $guarded = Headgate::cluster(regions => ['alone'], limits => \@limits, listen_http => 1, password => 'swordfish');
my $alone = $guarded->daemon('alone')->spawn;
ok(Headgate::wait_until(60, sub { eval { Http::connect($alone)->get('/readyz')->{status} == 200 } }), 'all are ready');

my $daemon = $cluster->daemon('us-east');
my $client = $daemon->client;
my $rule = '{id: login, service: shop, by: user, rate: 1/d, burst: 6, overshoot: 2}';
is($client->command('RULE', 'SET', "rules: [$rule]"), 'OK', 'a rule');
$client->command('RULE', 'SET', '{id: search, service: shop, by: ip, rate: 10/s}');
my $trial = $client->command('RULE', 'APPLY', '{id: search, service: shop, by: ip, rate: 20/s}', 'CANARY', '25%',
                             'NOTE', 'twice as many');
is($trial, 1, 'another one, with a version on trial');
# Until it stays refused: what is left is for none of the daemons, all spends are settled, and refill takes a day. A
# refusal makes its daemon ask the others; what they grant and nobody uses comes back within some three seconds.
my @clients = map { $_->client } $cluster->daemons;
my $refused_s;
ok(Headgate::wait_until(120, sub {
    return 0 if defined $refused_s && time - $refused_s < 4;
    my @said = map { $_->command('CHECK', 'user=mallory', 'SERVICE', 'shop') } @clients;
    my @refused = grep { ref $_ eq 'ARRAY' && !$_->[0] } @said; # a daemon that has not heard of the rule says an error
    my $again = defined $refused_s;
    $refused_s = @refused == @clients ? time : undef;
    return $again && @refused == @clients
        && $client->command('EXPLAIN', 'user=mallory', 'SERVICE', 'shop') =~ /^unsettled +0\.000 /m;
}), 'a key is spent');
# Keys of a rule that counts neither every endpoint nor every request, under a tier, with names that are no plain words.
my $odd = '{id: pay, service: bank, by: user, endpoint: /v1/pay/*, when: {kind: [card, cash]}, rate: 1/d, burst: 3, '
    . 'tiers: {pro: 1/d burst 3}, overshoot: 0}';
is($client->command('RULE', 'SET', "rules: [$odd]"), 'OK', 'a rule of few requests');
for my $user ("m\xc3\xbcnchen nord", 'x' x 250) {
    $client->command('CHECK', "user=$user", 'kind=card', 'SERVICE', 'bank', 'ENDPOINT', '/v1/pay/now', 'TIER', 'pro')
        for 1 .. 9;
}
my $said = join '', map { $client->command('CHECK', 'user=mallory', 'SERVICE', 'shop')->[0] } 1 .. 30;
is($said, '0' x 30, 'and is refused');

sub url { return "http://127.0.0.1:$_[0]{ports}{http}/" }

my ($status, $out, $err) = Headgate::run(900, 'sh', '-c', 'cd "$0" && exec node check.js "$@"', $browser, url($daemon),
                                         $daemon->{pid}, $cluster->daemon('ap-south')->{pid}, url($alone));
my @lines = split /\n/, $out;
for my $line (@lines) {
    my ($holds, $name, $why) = $line =~ /^(ok|not ok) (.*?)(?:: (.*))?$/ or next;
    ok($holds eq 'ok', $name) or diag($why // '');
}
is($lines[-1] // '', 'done', 'all was looked at') or diag("status $status: $err");
$_->signal('CONT') for $cluster->daemons;
ok($cluster->stop(60), 'the daemons end in peace');
done_testing();
