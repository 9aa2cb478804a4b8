#!/usr/bin/perl
# Each role, and the scope by services, at every door: each command of RESP, each path and method of HTTP, each method
# of gRPC. The commands are those that the daemon lists, paths those of docs/openapi.yaml, methods those of the protos,
# and who may do what is what docs/security.md says. What is about the same is allowed at all doors, or at none.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Http;
use Test::More;

my @roles = qw(check read rules admin);
my $root = $Headgate::root;
my $daemon = Headgate::cluster(regions => ['here'], listen_http => 1, listen_grpc => 1,
    http => {request_headers => '"user=X-User, service_id=X-Service"'}, users => [
    (map { {name => $_, roles => $_, secret => "s-$_"} } @roles),
    {name => 'all', roles => '"check, read, rules, admin"', secret => 's-all'},
    {name => 'shop', roles => 'check', services => 'shop', secret => 's-shop'},
])->daemon('here')->spawn;
ok(Headgate::wait_until(20, sub { eval { '' . $daemon->client->command('PING') } }),
   'a daemon with a user for each role');

sub client_of {
    my ($user) = @_;
    my $client = $daemon->client;
    $client->command('AUTH', $user, "s-$user") eq 'OK' or die "no $user\n";
    return $client;
}
my %client = map { $_ => client_of($_) } @roles, 'all', 'shop';
my $rules = join "\n", map { "- {id: u, service: $_, by: user, rate: 1000/s}" } qw(shop mail);
is('' . $client{all}->command('RULE', 'SET', "rules:\n$rules\n"), 'OK', 'rules of two services');

# ---- what docs/security.md says ----

# {commands => {role => [[NAME, SUBCOMMAND, all], ...]}, paths => {role => [[path, GET alone, all], ...]}}
my (%says, @everybody);
{
    my $text = Headgate::read_file("$root/docs/security.md");
    for my $role (@roles) {
        my ($commands, $paths) = $text =~ /^\| `$role` \| (.*?) \| (.*?) \|$/m or die "no row of $role\n";
        for (split /, /, $commands) {
            my ($all, $name, $sub) = /^(all of )?`([A-Z._]+)(?: ([A-Z]+))?`(?: with ids)?$/ or die "what is '$_'?\n";
            push @{$says{commands}{$role}}, [$name, $sub // '', $all];
        }
        for (split /, /, $paths) {
            my ($all, $get, $path) = m{^(all of )?(`GET` of )?`(/\S*)`$} or die "what is '$_'?\n";
            push @{$says{paths}{$role}}, [$path, $get, $all];
        }
    }
    my ($open) = $text =~ /its row: .*?\. ((?:`[A-Z ]+`, )+`[A-Z ]+`) and what/s or die "no commands for everybody\n";
    @everybody = $open =~ /`([A-Z]+)/g;
}

sub may_command {
    my ($role, $name, $sub) = @_;
    return scalar grep { $_->[0] eq $name && ($_->[2] || $_->[1] eq $sub) } @{$says{commands}{$role}};
}

sub may_path {
    my ($role, $method, $path) = @_;
    my $is_get = $method eq 'GET' || $method eq 'HEAD';
    return scalar grep {
        my ($said, $get, $all) = @$_;
        ($path eq $said || (($all || $get) && index($path, "$said/") == 0)) && (!$get || $is_get);
    } @{$says{paths}{$role}};
}

# ---- RESP ----

# Every command and subcommand: [NAME, SUBCOMMAND or ''], with its group and least number of words.
my (@commands, %group, %words);
{
    my %info = map { uc $_->[0] => $_ } @{$client{all}->command('COMMAND')};
    my %docs = @{$client{all}->command('COMMAND', 'DOCS')};
    for my $name (sort keys %info) {
        my %about = @{$docs{lc $name}};
        $group{$name} = $about{group};
        my @subs = map { [uc((split /\|/, $_->[0])[1]), abs $_->[1]] } @{$info{$name}[9]};
        for (@subs ? () : ['', abs $info{$name}[1]], $name eq 'WEIGHTS' ? ['', 1] : (), @subs) {
            push @commands, [$name, $_->[0]];
            $words{$name, $_->[0]} = $_->[1];
        }
    }
}
cmp_ok(scalar @commands, '>', 50, 'the daemon lists its commands');

my %example = (
    RESERVE => 'user=a TTL 1000', COMMIT => 'x 1', RENEW => 'x 1000', 'CL.THROTTLE' => 'k 1 1 1',
    THROTTLE => 'k 1 1 1', HEALTH => 'shop', RESET => 'user=a', SELECT => '0', map { $_ => 'user=a' }
    qw(CHECK PEEK REFUND EXPLAIN FINGERPRINT));
my %left_out = map { $_ => 1 } qw(HELLO AUTH QUIT MULTI EXEC DISCARD); # of the connection itself

sub example {
    my ($name, $sub) = @_;
    my @words = ($name, length $sub ? $sub : (), split / /, $example{$name} // '');
    push @words, 'x' while @words < $words{$name, $sub};
    return @words;
}

sub is_refused { my ($answer) = @_; return ref $answer eq 'Headgate::Error' && "$answer" =~ /^NOPERM/ ? 1 : 0 }

my %resp; # {NAME SUB}{role}: it may
for (grep { !$left_out{$_->[0]} } @commands) {
    my ($name, $sub) = @$_;
    my @words = example($name, $sub);
    my $free = grep { $_ eq $name } @everybody;
    $free ||= $group{$name} =~ /^(?:connection|transactions)$/ && $name ne 'RESET';
    my %want = map { $_ => $free || may_command($_, $name, $sub) ? 1 : 0 } @roles;
    my %got = map { $_ => !is_refused($client{$_}->command(@words)) || 0 } @roles;
    $resp{join ' ', $name, $sub || ()} = \%got;
    is_deeply(\%got, \%want, "@words: who may");
    my $nobody = $daemon->client;
    like('' . $nobody->command(@words), qr/^NOAUTH/, "@words: nobody else") if $name ne 'RESET';
}

# ---- HTTP ----

# [METHOD, path of the description, whether it is for everybody]
my @operations;
{
    my ($path, $method);
    for (split /\n/, Headgate::read_file("$root/docs/openapi.yaml") =~ s/^components:.*//msr =~ s/.*^paths://msr) {
        $path = $1 if m{^  (/\S*):$};
        ($method = uc $1, push @operations, [$method, $path, 0]) if /^    (get|post|put|delete):/;
        $operations[-1][2] = 1 if /^      security: \[\{\}\]/;
    }
}
cmp_ok(scalar @operations, '>', 30, 'docs/openapi.yaml has paths');

sub status_of {
    my ($user, $method, $path, $body, @lines) = @_;
    my $http = Http::connect($daemon);
    push @lines, "Authorization: Bearer $user:s-$user" if $user;
    push @lines, 'Content-Type: application/json' if defined $body;
    my $answer = $http->request($method, $path, $body, @lines);
    $http->close;
    return $answer->{status};
}

my %http; # {METHOD path}{role}
for (@operations) {
    my ($method, $path, $open) = @$_;
    my $target = $path =~ s/\{service\}/shop/r =~ s/\{rule\}/none/r =~ s/\{path\}/some/r;
    my $body = $method eq 'POST' || $method eq 'PUT' ? '{}' : undef;
    my %got = map { $_ => status_of($_, $method, $target, $body) != 403 || 0 } @roles;
    my %want = map { $_ => $open || may_path($_, $method, $target) ? 1 : 0 } @roles;
    $http{"$method $path"} = \%got;
    is_deeply(\%got, \%want, "$method $path: who may");
    is(status_of(undef, $method, $target, $body) == 401 || 0, 1 - $open, "$method $path: nobody else");
    is_deeply({map { $_ => status_of($_, 'HEAD', $target) != 403 || 0 } @roles}, \%got, "HEAD $path: the same")
        if $method eq 'GET' && $path ne '/v1/live';
}

# ---- the same at both doors ----

my %both = ('GET /v1/rules' => 'RULE LIST', 'POST /v1/rules' => 'RULE APPLY', 'GET /v1/rules/{service}' => 'RULE LIST',
            'GET /v1/rules/{service}/{rule}' => 'RULE GET', 'PUT /v1/rules/{service}/{rule}' => 'RULE APPLY',
            'DELETE /v1/rules/{service}/{rule}' => 'RULE DEL',
            'GET /v1/rules/{service}/{rule}/history' => 'RULE HISTORY', 'POST /v1/weights' => 'WEIGHTS SET',
            'GET /check' => 'CHECK', 'POST /check' => 'CHECK', 'GET /metrics' => 'INFO', 'GET /v1/live' => 'INFO',
            map { ("$_ /check/{path}" => 'CHECK') } qw(GET POST PUT DELETE));
for (grep { !$_->[2] } @operations) {
    my ($method, $path) = @$_;
    my $command = $both{"$method $path"} // ($path =~ m{^/v1/(\w+)$} && $resp{uc $1} ? uc $1 : undef);
    if (!ok(defined $command, "$method $path has a command")) {
        diag('name the command that does the same in %both of this test');
        next;
    }
    is_deeply($http{"$method $path"}, $resp{$command}, "$method $path: those who may say $command");
}

# ---- the scope ----

sub asks { my ($path, $more) = @_; return sub {
    my $body = qq({"identifiers":{"user":"a"},"service_id":"$_[0]"$more});
    return status_of('shop', 'POST', $path, $body) == 403 || 0;
} }
sub gets { my ($path) = @_; return sub { status_of('shop', 'GET', "$path?user=a&service_id=$_[0]") == 403 || 0 } }
sub says { my (@words) = @_; return sub { is_refused($client{shop}->command(@words, 'SERVICE', $_[0])) } }
my %scoped = (
    (map { $_ => says($_, 'user=a') } qw(CHECK PEEK REFUND EXPLAIN FINGERPRINT)),
    RESERVE => says(qw(RESERVE user=a TTL 1000)),
    HEALTH => sub { is_refused($client{shop}->command('HEALTH', $_[0])) },
    (map { ("POST $_" => asks($_, '')) } qw(/v1/check /v1/peek /v1/refund)),
    'POST /v1/reserve' => asks('/v1/reserve', ',"ttl_ms":1000'),
    (map { ("GET $_" => gets($_)) } qw(/check /v1/explain)),
    'GET /check/some' => sub {
        status_of('shop', 'GET', '/check/some', undef, 'X-User: a', "X-Service: $_[0]") == 403 || 0;
    },
);
for my $door (sort keys %scoped) {
    is($scoped{$door}->('shop') . $scoped{$door}->('mail'), '01', "$door: of its service, and of no other");
}
my @batch = map { {identifiers => {user => 'a'}, service_id => $_} } qw(shop mail);
my $batch = Http::connect($daemon)->post('/v1/check', \@batch, 'Authorization: Bearer shop:s-shop');
unlike($batch->{body}, qr/"allowed":true.*"allowed":true/s, 'nor in a batch');

# ---- gRPC ----

subtest 'gRPC' => sub {
    plan skip_all => 'no python3-grpcio' if system('/usr/bin/python3 -c "import grpc" 2>&-') != 0;
    my @methods;
    for my $proto (split /\n/, qx(find $root/src/grpc/proto -name '*.proto')) {
        my $text = Headgate::read_file($proto);
        my ($package) = $text =~ /^package (\S+);/m;
        while ($text =~ /^service (\w+) \{(.*?)^\}/msg) {
            my ($service, $body) = ($1, $2);
            push @methods, "/$package.$service/$1" while $body =~ /rpc (\w+)/g;
        }
    }
    is(scalar(grep { /ShouldRateLimit/ } @methods), 1, 'the protos name methods: ' . join ' ', @methods);
    my $program = <<"END";
import grpc, sys
channel = grpc.insecure_channel('127.0.0.1:$daemon->{ports}{grpc}')
def limits(domain):
    entry = b'\\x0a\\x04user\\x12\\x01a'
    one = b'\\x0a' + bytes([len(entry)]) + entry
    return b'\\x0a' + bytes([len(domain)]) + domain + b'\\x12' + bytes([len(one)]) + one
for line in sys.stdin:
    path, user, domain = line.split()
    who = [] if user == '-' else [('authorization', 'Bearer %s:s-%s' % (user, user))]
    try:
        message = limits(domain.encode()) if 'RateLimit' in path else b''
        if path.endswith('Watch'):
            next(channel.unary_stream(path)(message, timeout=60, metadata=who))
        else:
            channel.unary_unary(path)(message, timeout=60, metadata=who)
        print('OK', flush=True)
    except grpc.RpcError as error:
        print(error.code().name, flush=True)
END
    my $ask = sub {
        my $file = Headgate::write_file(Headgate::scratch() . '/asked', join '', map { "$_\n" } @_);
        my ($status, $out, $err) = Headgate::run(30, 'sh', '-c', 'exec /usr/bin/python3 -c "$1" <"$2"', '-',
                                                  $program, $file);
        diag($err) if $status != 0;
        return split /\n/, $out;
    };
    for my $method (@methods) {
        my $open = $method =~ /\.health\./;
        my @got = $ask->(map { "$method $_ shop" } '-', @roles);
        my $no = $open ? 'OK' : 'PERMISSION_DENIED';
        is_deeply(\@got, [$open ? 'OK' : 'UNAUTHENTICATED', 'OK', ($no) x 3], "$method: who may");
    }
    my ($limit) = grep { /ShouldRateLimit/ } @methods;
    is_deeply([$ask->("$limit shop shop", "$limit shop mail")], ['OK', 'PERMISSION_DENIED'],
              'of its service, and of no other');
};

is($daemon->stop, 0, 'it ends');
done_testing();
