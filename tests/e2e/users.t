#!/usr/bin/perl
# Users of the config: where their secrets come from, what they may do, and where no secret is ever shown.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Test::More;

my $scratch = Headgate::scratch();
my $headgated = Headgate::headgated();
my $secret_file = Headgate::write_file("$scratch/gateway.secret", "of-a-file 1\nmore\n");
chmod 0600, $secret_file;
$ENV{HEADGATE_TEST_SECRET} = 'of-the-environment';
sub hashed { return Headgate::run(30, 'sh', '-c', "echo $_[0] | '" . Headgate::headgate() . "' hash-password") }
my ($hashed, $hash, $hash_error) = hashed('of-a-hash');
my @secrets = ('of-a-file 1', 'of-the-environment', 'of-the-config', 'of-everybody', 'of-a-test');

my $daemon = Headgate::cluster(regions => ['here'], listen_http => 1, threads => 2, log_level => 'debug',
                               password => 'of-everybody', users => [
    {name => 'gateway', roles => 'check', services => 'shop', secret_file => $secret_file},
    {name => 'grafana', roles => 'read', secret_env => 'HEADGATE_TEST_SECRET'},
    {name => 'deploy', roles => 'check, rules, admin', secret => 'of-the-config'},
])->daemon('here');
my $http = "127.0.0.1:$daemon->{ports}{http}";

# ---- what is shown ----

sub printed { my (@more) = @_; return Headgate::run(10, $headgated, '-c', $daemon->{config}, @more) }
my ($status, $out, $err) = printed('--print-config');
is("$status$err", '0', 'the config is printed');
is_deeply([grep { index($out, $_) >= 0 } @secrets], [], 'without a secret');
is(() = $out =~ /'?\(given\)'?/g, 3, 'but with what stands for those that are in it');
Headgate::write_file("$scratch/shown.yaml", $out);
($status, undef, $err) = Headgate::run(10, $headgated, '-c', "$scratch/shown.yaml", '--check-config');
is($status, 78, 'which is no config');
like($err, qr/ is '\(given\)': expected the value itself: headgated prints it with --show-secrets\n/, 'as it is told');
($status, $out, $err) = printed('--print-config', '--show-secrets');
is_deeply([grep { index($out, $_) < 0 } @secrets[2, 3, 4]], [], '--show-secrets shows those of the config');
is_deeply([grep { index($out, $_) >= 0 } @secrets[0, 1]], [], 'not those that stand elsewhere');
Headgate::write_file("$scratch/shown.yaml", $out);
($status, my $again) = Headgate::run(10, $headgated, '-c', "$scratch/shown.yaml", '--print-config', '--show-secrets');
is($again, $out, 'and reads back');
($status, undef, $err) = printed('--show-secrets');
is("$status $err", "64 headgated: --show-secrets has no effect without --print-config\n", 'alone it shows nothing');

# ---- hashes ----

is("$hashed$hash_error", '0', 'headgate hash-password makes a hash');
like($hash, qr/^\$argon2id\$v=19\$m=65536,t=2,p=1\$[^\s\$]+\$[^\s\$]+\n\z/, 'of argon2id');
chomp $hash;
(undef, my $other) = hashed('of-a-hash');
isnt($other, "$hash\n", 'each time another one');
($hashed, undef, $hash_error) = hashed('');
is("$hashed $hash_error", '65 headgate hash-password: expected a password of 1 to 256 bytes as the first line of the'
   . " standard input\n", 'nothing has none');
$daemon->{settings}{users}[3] = {name => 'slow', roles => 'check', password_hash => "'$hash'"};
$daemon->write_config;

# ---- where secrets are ----

sub refuses {
    my ($sentence, $name) = @_;
    my $key = "$sentence" =~ /(secret_\w+)/ ? $1 : die "no key in $sentence\n";
    my @lines = split /\n/, Headgate::read_file($daemon->{config});
    my ($line) = grep { $lines[$_ - 1] =~ /\b$key:/ } 1 .. @lines;
    my ($got, undef, $said) = printed('--check-config');
    is($got, 78, "$name: exit status 78");
    like($said, qr/^headgated: \Q$daemon->{config}\E:$line: $sentence\n\z/, 'in one sentence');
}
{
    local $ENV{HEADGATE_TEST_SECRET} = '';
    refuses(qr/users\[1\]\.secret_env is 'HEADGATE_TEST_SECRET': expected a variable with 1 to 256 bytes/,
            'no such variable');
}
chmod 0644, $secret_file;
refuses(qr/users\[0\]\.secret_file is '.*': expected a file that others cannot read, .* \(it has 644\)/,
        'an open file');
Headgate::write_file($secret_file, "\n");
refuses(qr/users\[0\]\.secret_file is '.*': expected a file whose first line has 1 to 256 bytes/, 'an empty file');
unlink $secret_file;
refuses(qr/users\[0\]\.secret_file is '.*': expected a file with a secret in its first line, but .* cannot be read: .*/,
        'no file');
Headgate::write_file($secret_file, "of-a-file 1\nmore\n");
chmod 0600, $secret_file;

$daemon->{settings}{users}[3]{password_hash} = "'" . ($hash =~ s/m=65536/m=99999999/r) . "'";
$daemon->write_config;
($status, undef, $err) = printed('--check-config');
like("$status $err", qr/^78 headgated: .*:\d+: users\[3\]\.password_hash is no such hash: expected what headgate h/,
     'a hash that would take too much is refused');
for my $by_mistake ({password_hash => 'plain-secret'}, {secret_env => "'plain-secret'"}, {secret_env => "'5ecre7'"},
                    {secret_env => "'" . 'plain-secret' x 6 . "'"}, {secret => "'" . 'plain-secret' x 30 . "'"}) {
    my ($key) = keys %$by_mistake;
    local $daemon->{settings}{users} = [{name => 'slow', roles => 'check', %$by_mistake}];
    $daemon->write_config;
    ($status, $out, $err) = printed('--check-config');
    is($status, 78, "a secret as $key is refused");
    unlike("$out$err", qr/plain-secret|5ecre7/, 'and not shown');
}
$daemon->{settings}{users}[3]{password_hash} = "'$hash'";
$daemon->write_config;

# ---- who may do what ----

$daemon->spawn;
ok(Headgate::wait_until(20, sub { my $client = eval { $daemon->client } or return 0; "" . $client->command('PING') }),
   'a daemon with users starts');
my $nobody = $daemon->client;
is('' . $nobody->command('CAN_ACCESS', 'a'), 'NOAUTH Authentication required.', 'nobody is let in without a secret');
my %client;
for (['gateway', 'of-a-file 1'], ['grafana', 'of-the-environment'], ['deploy', 'of-the-config'],
     ['default', 'of-everybody']) {
    my ($user, $secret) = @$_;
    $client{$user} = $daemon->client;
    is('' . $client{$user}->command('AUTH', $user, $secret), 'OK', "$user is let in");
    like('' . $client{$user}->command('CLIENT', 'INFO'), qr/ user=$user /, 'as himself');
}
my $denied = sub { my ($name) = @_; "NOPERM User $_[1] has no permissions to run the '$name' command" };
is('' . $client{deploy}->command('RULE', 'SET', 'rules: [{id: u, service: shop, by: user, rate: 10/s}]'), 'OK',
   'deploy sets rules');
is('' . $client{gateway}->command('CHECK', 'user=a', 'SERVICE', 'shop')->[0], '1', 'gateway asks about its service');
is('' . $client{gateway}->command('CHECK', 'user=a'), "NOPERM user 'gateway' may ask for the services shop only",
   'and about no other');
is('' . $client{gateway}->command('INFO'), $denied->('info', 'gateway'), 'it reads no figures');
is('' . $client{grafana}->command('CHECK', 'user=a', 'SERVICE', 'shop'), $denied->('check', 'grafana'),
   'grafana takes no tokens');
is('' . $client{grafana}->command('RULE', 'DEL', 'shop', 'u'), $denied->('rule|del', 'grafana'), 'and no rules away');
is('' . $client{grafana}->command('DEBUG', 'HEAL'), $denied->('debug', 'grafana'), 'nor breaks it anything');
is('' . $client{deploy}->command('DEBUG', 'HEAL'), 'OK', 'deploy may');
is('' . $client{default}->command('CAN_ACCESS', 'a'), '1', 'the user of the password may do all');
my $info = $client{grafana}->command('INFO');
is_deeply([grep { index($info, $_) >= 0 } @secrets], [], 'INFO has no secret');

sub curl { my (@words) = @_; return Headgate::run(20, 'curl', '-s', '-o', '/dev/null', '-w', '%{http_code}', @words) }
for ([200, '-u', 'grafana:of-the-environment', "http://$http/metrics"],
     [200, '-H', 'Authorization: Bearer grafana:of-the-environment', "http://$http/metrics"],
     [200, '-H', 'Authorization: Bearer of-everybody', "http://$http/metrics"],
     [403, '-u', 'gateway:of-a-file 1', "http://$http/metrics"],
     [403, '-u', 'grafana:of-the-environment', '-X', 'DELETE', "http://$http/v1/rules/shop/u"],
     [403, '-u', 'gateway:of-a-file 1', "http://$http/v1/explain?user=a&service_id=other"],
     [200, '-u', 'gateway:of-a-file 1', "http://$http/v1/explain?user=a&service_id=shop"],
     [401, '-u', 'grafana:of-a-file 1', "http://$http/metrics"], [401, "http://$http/metrics"]) {
    my ($code, @words) = @$_;
    is((curl(@words))[1], $code, "curl @words: $code");
}
($status, $out) = Headgate::run(10, 'redis-cli', '-p', $daemon->{ports}{clients}, '--user', 'gateway', '--pass',
                                'of-a-file 1', '--no-auth-warning', 'CHECK', 'user=b', 'SERVICE', 'shop');
like($out, qr/^1\n/, 'redis-cli gives a user');

{
    local $ENV{HEADGATE_PASSWORD} = 'of-the-environment';
    my @operator = (Headgate::headgate(), 'info', 'server', '--at', "127.0.0.1:$daemon->{ports}{clients}", '--user');
    is((Headgate::run(10, @operator, 'grafana'))[0], 0, 'headgate --user');
    like(join(' ', Headgate::run(10, @operator, 'gateway')), qr/^65 .*WRONGPASS/, 'and with the secret of another');
}

# ---- hashed secrets ----

# While a guess is compared, others are served; what comes behind it waits.
my $slow = $daemon->client;
$slow->send_raw(Headgate::Client::encode('AUTH', 'slow', 'guess') . Headgate::Client::encode('PING'));
my $served = 0;
my $answers = IO::Select->new($slow->{socket});
$served++ while !$answers->can_read(0) && $client{default}->command('CAN_ACCESS', 'busy') =~ /^[01]$/;
cmp_ok($served, '>', 20, 'clients are served while a guess is compared');
like('' . $slow->reply, qr/^WRONGPASS /, 'it is wrong');
is('' . $slow->reply, 'NOAUTH Authentication required.', 'and what came behind it is answered');
is('' . $slow->command('AUTH', 'slow', 'of-a-hash'), 'OK', 'the right secret is right');
is('' . $slow->command('CAN_ACCESS', 'a'), '1', 'and its user may do what its role says');
my @slow = map { $daemon->client } 1 .. 30;
is('' . $_->command('HELLO', 3, 'AUTH', 'slow', 'of-a-hash')->[1], 'headgate', 'again, and at once') for @slow[0 .. 1];
is((curl('-u', 'slow:of-a-hash', "http://$http/check?user=a"))[1], 200, 'over HTTP');
is((curl('-u', 'slow:of-a-hash ', "http://$http/v1/explain?user=a"))[1], 401, 'a wrong one is wrong there, too');
# After a start HTTP waits as well.
is($daemon->stop, 0, 'it ends');
$daemon->spawn;
ok(Headgate::wait_until(20, sub { eval { '' . $daemon->client->command('PING') } }), 'and starts');
is((curl('-u', 'slow:of-a-hash', "http://$http/v1/explain?user=a"))[1], 200, 'the first request waits for its answer');
$client{$_} = $daemon->client for qw(grafana);
$client{grafana}->command('AUTH', 'grafana', 'of-the-environment');

# ---- guessing costs ----

my $guesser = $daemon->client;
is('' . $guesser->command('AUTH', 'gateway', 'guess'), 'WRONGPASS invalid username-password pair or user is disabled.',
   'a wrong secret');
is('' . $guesser->command('AUTH', 'nobody', 'of-a-file 1'),
   'WRONGPASS invalid username-password pair or user is disabled.',
   'and a user that does not exist are told the same');
cmp_ok($client{grafana}->fields('INFO', 'clients')->{auth_failures}, '>=', 2, 'which is counted');
is($daemon->stop, 0, 'it ends');
is_deeply([grep { index($daemon->log, $_) >= 0 } @secrets, 'guess'], [], 'the log has no secret, and no guess');

done_testing();
