# Who is limited, asked of a daemon with several threads: over RESP, by the operator's command, and over HTTP.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Http;
use JSON::PP;
use Test::More;

my %settings = (regions => ['one'], listen_http => 1, threads => 3,
                limits => [{name => 'default', capacity => 10, rate => '1/h', default => 'true'}]);
my $cluster = Headgate::cluster(%settings, remember_names => 'true')->start(20);
my ($daemon) = $cluster->daemons;

sub headgate {
    my ($of, @words) = @_;
    local $ENV{HEADGATE_AT} = "127.0.0.1:$of->{ports}{clients}";
    return Headgate::run(20, Headgate::headgate(), @words);
}

sub hot_json { return decode_json((headgate(@_, '--json'))[1]) }

# 8 clients of 40 requests each: whatever thread each is served by, 10 of all are admitted.
subtest 'every refusal of every thread' => sub {
    my @clients = map { $daemon->client } 1 .. 8;
    ok(Headgate::wait_until(20, sub { ($clients[0]->command('CAN_ACCESS', 'early') // 0) == 1 }), 'the daemon decides');
    my $allowed = 0;
    for (1 .. 40) {
        $allowed += $_->command('CAN_ACCESS', 'loud') for @clients;
    }
    is($allowed, 10, 'what is admitted');
    my $rows = hot_json($daemon, 'hot');
    is(scalar @$rows, 1, 'one row');
    is($rows->[0]{keys}[0]{name}, 'user=loud', 'its key');
    is($rows->[0]{keys}[0]{count}, 310, 'every refusal is counted once');
    is($rows->[0]{total}, 310, 'and nothing else');
};

subtest 'over HTTP' => sub {
    my $http = Http::connect($daemon);
    is($daemon->client->command('RULE', 'SET', 'rules: [{id: r, service: shop, by: [user, ip], rate: 2/h, burst: 2}]'),
       'OK', 'a rule');
    my $ids = {user => 'ann', ip => '1.2.3.4'};
    $http->post('/v1/check', {identifiers => $ids, service_id => 'shop'}) for 1 .. 5;
    $http->get('/check?user=ann&ip=1.2.3.4&service_id=shop') for 1 .. 2;
    my $hot = $http->get('/v1/hot?service_id=shop&count=1')->{json};
    is("$hot->{by} $hot->{over} " . scalar @{$hot->{rules}}, 'refused minutes 1', 'refusals of these minutes');
    my ($row) = @{$hot->{rules}};
    is("$row->{service}/$row->{rule} $row->{total} $row->{sampled}", 'shop/r 5 1', 'of the rule');
    like($row->{keys}[0]{name}, qr/^(user=ann ip=1\.2\.3\.4|ip=1\.2\.3\.4 user=ann)$/, 'the name');
    is($http->get('/v1/hot?by=sold')->{status}, 400, 'a word that is none');
    is($http->get('/v1/hot?by=sold')->{json}{field}, 'by', '... is named');
    is($http->get('/v1/hot?over=hours&by=asked')->{status}, 200, 'by what was asked, over hours');
    my ($status, $out) = headgate($daemon, 'fingerprint', 'user=ann', 'ip=1.2.3.4', '--service', 'shop');
    like($out, qr{^$row->{keys}[0]{fingerprint}  under shop/r$}m, 'headgate fingerprint finds it');
    ($status, $out) = headgate($daemon, 'hot', 'shop', 'r');
    like($out, qr{^shop/r: 5 requests refused, in the last .*\n +5  $row->{keys}[0]{fingerprint}  \S+=\S+ \S+=\S+$}m,
         'headgate hot for people');
    ($status, $out) = headgate($daemon, 'hot', 'nobody');
    is($out, "nothing to show\n", 'nothing to show');
    is((headgate($daemon, 'hot', 'shop', 'r', 'by', 'sold'))[0], 65, 'a word that is none');
    my @odd = ("m\xc3\xbcnchen", 'a b=c%d', "line\nbreak", 'x' x 200);
    my %shown = map { $_ => $_ =~ s/([^!-\$&-~])/sprintf '%%%02X', ord $1/ger } @odd;
    for my $user (@odd) {
        $daemon->client->command('CHECK', "user=$user", 'ip=1', 'SERVICE', 'shop') for 1 .. 9;
    }
    my @names = sort map { (split ' ', $_->{name})[0] =~ s/^user=//r } grep { $_->{count} == 7 }
        @{$http->get('/v1/hot?service_id=shop')->{json}{rules}[0]{keys}};
    is("@names", join(' ', sort @shown{@odd[0 .. 2]}, 'x' x 111 . '...'), 'odd bytes as in a URL, a long name cut');
    is($http->get("/v1/explain?service_id=shop&user=$shown{$_}&ip=1")->{json}{allowed}, JSON::PP::false,
       'so that whoever reads one can ask for it') for @odd[0 .. 2];
};

subtest 'names are remembered only where the config says so' => sub {
    my $silent = Headgate::cluster(%settings)->start(20);
    my ($other) = $silent->daemons;
    my $client = $other->client;
    ok(Headgate::wait_until(20, sub { ($client->command('CAN_ACCESS', 'early') // 0) == 1 }), 'the daemon decides');
    $client->command('CAN_ACCESS', 'secretive') for 1 .. 12;
    my ($status, $out) = headgate($other, 'hot', '--json');
    my $key = decode_json($out)->[0]{keys}[0];
    is($key->{count}, 2, 'the refusals');
    is($key->{name}, undef, 'have no name');
    unlike($out . Http::connect($other)->get('/v1/hot')->{body}, qr/secretive/, 'anywhere');
    is(hot_json($other, 'fingerprint', 'secretive')->{fingerprint}, $key->{fingerprint}, 'but a fingerprint');
    $silent->stop;
};

$cluster->stop;
done_testing;
