# The log of refusals: a line of JSON for each key, rule and window; opened again on a signal; a full disk stops nobody.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Http;
use JSON::PP;
use Test::More;

my $place = Headgate::scratch();
my $file = "$place/refusals";
my $rules = 'rules: [{id: slow, service: shop, by: user, rate: 2/d, burst: 2, tiers: {pro: 3/d}},'
    . ' {id: quick, service: api, by: user, rate: 5/s, burst: 1},'
    . ' {id: list, service: door, by: user, rate: 9/d, deny: [user=eve]},'
    . ' {id: kind, service: gate, by: user, rate: 1/d, burst: 1, mode: soft}]';
my $limits = [{name => 'default', capacity => 3, rate => '1/h', default => 'true'}];

sub daemon {
    my (%more) = @_;
    my $cluster = Headgate::cluster(regions => ['one'], listen_http => 1, threads => 3, limits => $limits, %more);
    my ($daemon) = $cluster->start(20)->daemons;
    my $client = $daemon->client;
    ok(Headgate::wait_until(20, sub { ($client->command('CAN_ACCESS', 'early') // 0) == 1 }), 'the daemon decides');
    is($client->command('RULE', 'SET', $rules), 'OK', 'rules');
    return ($cluster, $daemon, $client);
}

sub lines { return map { decode_json($_) } split /\n/, -e $_[0] ? Headgate::read_file($_[0]) : '' }
sub has_lines { my ($of, $count) = @_; return Headgate::wait_until(20, sub { lines($of) >= $count }) }

my ($cluster, $daemon, $client) = daemon(refusal_log => $file, remember_names => 'true', log_format => 'json');
my $http = Http::connect($daemon);
my $trace = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

subtest 'one line for a key in a window' => sub {
    my @clients = map { $daemon->client } 1 .. 6;
    for my $user ('ann', 'bob') {
        $_->command('CHECK', "user=$user", 'SERVICE', 'shop', 'TIER', 'pro') for @clients;
    }
    $_->command('CAN_ACCESS', 'cal') for @clients;
    $_->command('CHECK', 'eve', 'SERVICE', 'door') for @clients;
    is($_->command('CHECK', 'gus', 'SERVICE', 'gate')->[0], 1, 'a soft rule allows') for @clients;
    ok(has_lines($file, 5), 'four keys were refused, and one is over a soft limit');
    my @lines = lines($file);
    is(scalar @lines, 5, 'whatever thread they were refused by');
    my %of = map { ($_->{name} => $_) } @lines;
    my $ann = $of{'user=ann'};
    is("$ann->{service}/$ann->{rule} $ann->{tier} $ann->{reason} $ann->{repeats}", 'shop/slow pro capacity 0',
       'a tier');
    is("$of{'user=gus'}{mode} $of{'user=gus'}{reason} $ann->{mode}", 'soft capacity enforce',
       'a soft rule is called so');
    is("$ann->{region} $ann->{node}", 'one one', 'where');
    like($ann->{time}, qr/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/, 'when');
    is($of{'user=cal'}{service} // 'null', 'null', 'a limit of the config');
    is($of{'user=cal'}{reason}, 'capacity', 'and why');
    is($of{'user=eve'}{reason}, 'deny_list', 'a deny list');
    my $told = $client->command('FINGERPRINT', 'ann');
    is($ann->{fingerprint}, $told->[1], 'its fingerprint');
    ok(Headgate::wait_until(20, sub { $client->fields('INFO', 'refusals')->{refusal_log_lines} == 5 }), 'INFO counts');
    cmp_ok($client->fields('INFO', 'refusals')->{refusal_log_repeated}, '>=', 4, 'and what had no line');
};

subtest 'the next window, and a trace' => sub {
    my ($refused, $of_quick) = (0, 0);
    ok(Headgate::wait_until(60, sub {
        my $answer = $http->request('GET', '/check?user=dan&service_id=api', undef, "traceparent: $trace");
        $refused += $answer->{status} == 429;
        $of_quick = grep { $_->{rule} eq 'quick' } lines($file);
        return $of_quick >= 2;
    }), 'a key that goes on gets a line in a later window');
    my ($first, $second) = grep { $_->{rule} eq 'quick' } lines($file);
    is($first->{traceparent}, $trace, 'with the trace of who was refused');
    is($first->{repeats}, 0, 'nothing came before the first line');
    cmp_ok($second->{repeats}, '<', $refused, 'the second one tells of those between');
    $http->request('GET', '/check?user=fay&service_id=shop', undef, 'traceparent: "; drop') for 1 .. 3;
    ok(Headgate::wait_until(20, sub { grep { ($_->{name} // '') eq 'user=fay' } lines($file) }), 'another key');
    my ($fay) = grep { ($_->{name} // '') eq 'user=fay' } lines($file);
    is($fay->{traceparent}, undef, 'what is no trace is not passed on');
    $http->request('GET', '/check?user=o%22%5C%0A%C3%BC&service_id=shop&cost=9');
    ok(Headgate::wait_until(20, sub { grep { ($_->{name} // '') eq 'user=o"\\%0A%C3%BC' } lines($file) }),
       'a name has each of its bytes');
};

subtest 'opened again' => sub {
    for my $signal ('HUP', 'USR1') {
        my $count = lines($file);
        rename $file, "$file.$signal" or die;
        kill $signal => $daemon->{pid};
        ok(Headgate::wait_until(20, sub { -e $file }), "SIG$signal makes a new file");
        $client->command('CHECK', "user=late-$signal", 'SERVICE', 'shop') for 1 .. 3;
        ok(has_lines($file, 1), 'which has the lines from then on');
        is(scalar(lines("$file.$signal")), $count, 'the old one has those before');
    }
    ok(Headgate::wait_until(20, sub { $daemon->log =~ /SIGHUP: \Q$file\E is opened again/ }),
       'the log says so');
    my @lines = grep { length } split /\n/, $daemon->log;
    is(scalar(grep { eval { decode_json($_)->{message} } } @lines), scalar @lines,
       'log_format: json: each line is an object');
};
$cluster->stop;

subtest 'a full disk' => sub {
    plan skip_all => 'there is no /dev/full here' if !-w '/dev/full';
    my ($other, $full, $asking) = daemon(refusal_log => '/dev/full');
    $asking->command('CHECK', "user=u$_", 'SERVICE', 'shop', 'COST', 9) for 1 .. 50;
    ok(Headgate::wait_until(20, sub {
        my $info = $asking->fields('INFO', 'refusals');
        my $gone = $info->{refusal_log_lost} + $info->{refusal_log_dropped};
        return $gone == 50 && $info->{refusal_log_state} eq "failing";
    }), 'loses lines, which are counted');
    my $metrics = Http::connect($full)->metrics;
    is($metrics->{headgate_refusal_log_failing} + 0, 1, '/metrics says so');
    is($asking->command('CHECK', 'user=v', 'SERVICE', 'shop')->[0], 1, 'and clients are served');
    my $says = qr{ warning refusal_log: /dev/full cannot be written \(No space left on device\): lines of };
    ok(Headgate::wait_until(20, sub { $full->log =~ $says }), 'the log says so');
    $asking->command('CHECK', "user=w$_", 'SERVICE', 'shop', 'COST', 9) for 1 .. 50;
    ok(Headgate::wait_until(20, sub { $asking->fields('INFO', 'refusals')->{refusal_log_lost} >= 51 }), 'more is lost');
    is(() = $full->log =~ /$says/g, 1, 'of which nothing more is said');
    $other->stop;
};

subtest 'a file that is gone, and comes back' => sub {
    my $parent = "$place/moves";
    mkdir $parent or die;
    my ($other, $daemon, $asking) = daemon(refusal_log => "$parent/refusals", sandbox => 'false');
    rename $parent, "$parent.away" or die;
    $daemon->signal('USR1');
    my $user = 0;
    my $says = sub {
        my ($sentence) = @_;
        return Headgate::wait_until(20, sub {
            $user++;
            $asking->command('CHECK', "user=u$user", 'SERVICE', 'shop', 'COST', 9);
            return $daemon->log =~ $sentence;
        });
    };
    ok($says->(qr{ warning refusal_log: \Q$parent\E/refusals cannot be written \(No such file or directory\)}),
       'the log says why');
    $daemon->signal('USR1');
    my $twice = qr{ cannot be written \(No such .* SIGUSR1: .* cannot be written \(No such }s;
    ok($says->($twice), 'and says so again where somebody has it opened again');
    Headgate::write_file($parent, '');
    ok($says->(qr{ warning refusal_log: \Q$parent\E/refusals cannot be written \(Not a directory\)}),
       'or for another reason');
    unlink $parent or die;
    rename "$parent.away", $parent or die;
    ok($says->(qr{ info refusal_log: \Q$parent\E/refusals is written again; lines lost meanwhile: [1-9]\d*\n}),
       'and that it is over');
    $other->stop;
};

done_testing;
