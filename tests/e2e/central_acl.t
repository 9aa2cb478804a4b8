#!/usr/bin/perl
# A central store whose user may do what docs/central.md names, and nothing else: rules of all kinds are decided there,
# hot keys too, and what nobody used comes back.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use List::Util qw(sum0);
use Test::More;

plan skip_all => 'no redis-server' if system('command -v redis-server >/dev/null') != 0;

my ($port) = Headgate::free_ports(1);
my $scratch = Headgate::scratch();
my ($sentence) = Headgate::read_file("$Headgate::root/docs/central.md") =~ /(The user of Redis needs [^.]*)\./;
my @words = ($sentence // '') =~ /`([^`]+)`/g;
my $names = pop @words;
ok(@words >= 5 && $names eq 'headgate:*', "central.md: $sentence") or BAIL_OUT('which commands?');
Headgate::write_file("$scratch/users", join(' ', 'user headgate on >of-headgate', "~$names", map { '+' . lc } @words)
    . "\nuser default on >of-all ~* &* +\@all\n");
Headgate::spawn(("$scratch/redis.log") x 2, 'redis-server', '--port', $port, '--save', '', '--appendonly', 'no',
                '--dir', $scratch, '--aclfile', "$scratch/users");
sub redis {
    my $client = Headgate::Client::connect("127.0.0.1:$port");
    $client->command('AUTH', 'of-all');
    return $client->command(@_);
}
ok(Headgate::wait_until(10, sub { eval { redis('PING') eq 'PONG' } }), 'a redis-server');

my %central = (address => "127.0.0.1:$port", user => 'headgate', password => 'of-headgate', timeout => '5s');
my $daemon = Headgate::cluster(regions => ['here'], threads => 2, central => {%central})->daemon('here')->start;
my $info = sub { return $daemon->client->fields('INFO', 'central') };
ok(Headgate::wait_until(10, sub { $info->()->{central_connections} == 2 }), 'its user is let in')
    or diag($daemon->log);
my $rules = <<'RULES';
rules:
  - {id: tokens, service: shop, by: user, rate: 10/h, sync: central, when_down: closed}
  - {id: window, service: shop, by: ip, algorithm: fixed_window, limit: 10, window: 1h, sync: central,
     when_down: closed}
  - {id: first, service: shop, by: phone, algorithm: fixed_window, limit: 10, window: 1h, begins: first_request,
     sync: central, when_down: closed}
  - {id: hot, service: shop, by: page, rate: 1000/h, sync: central, when_down: closed}
RULES
is($daemon->client->command('RULE', 'APPLY', $rules), 4, 'rules of all kinds');
for my $id (qw(user=ann ip=1.2.3.4 phone=7)) {
    my @answers = $daemon->client->pipeline((['CHECK', $id, 'SERVICE', 'shop']) x 12);
    is(sum0(map { $_->[0] } @answers), 10, "$id: ten are admitted of a limit of ten");
}
my @hot = map { $_->[0] } $daemon->client->pipeline((['CHECK', 'page=home', 'SERVICE', 'shop']) x 300);
is(sum0(@hot), 300, 'a hot key');
ok(Headgate::wait_until(10, sub {
    $daemon->client->command(qw(PEEK page=home SERVICE shop))->[2] == 700
}), 'what was taken in advance comes back');
is(redis('SCRIPT', 'FLUSH'), 'OK', 'the store forgets its scripts');
is($daemon->client->command('CHECK', 'user=bob', 'SERVICE', 'shop')->[2], 9, 'and is told anew');
is($info->()->{central_failed} // 'none', 0, 'no call has failed');
is_deeply(redis('ACL', 'LOG'), [], 'and the store has refused nothing');
is($daemon->stop(20), 0, 'the daemon ends');

done_testing();
