#!/usr/bin/perl
# What a daemon keeps over its end: where, and what happens when that place or its file is not as it should be.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Test::More;

sub store { my ($daemon) = @_; return $daemon->client->fields('INFO', 'store') }

# One daemon, alone.
sub alone {
    my (%settings) = @_;
    return Headgate::cluster(regions => ['here'], %settings)->daemon('here');
}

# ---- places ----

my $daemon = alone()->start;
my $file = "$daemon->{state_dir}/headgate.db";
is(store($daemon)->{store_state}, 'writing', 'state_dir is made, and the store works');
is(store($daemon)->{store_file}, $file, 'it says where its file is');
like($daemon->log, qr/ info state is kept in \Q$daemon->{state_dir}\E$/m, 'and so does the log');

my $second = alone(state_dir => $daemon->{state_dir});
my ($status, $out, $err) = Headgate::run(10, Headgate::headgated(), '--config', $second->{config});
is($status, 73, 'a second daemon with the same state_dir does not start');
like($err,
     qr/^headgated: \S+:\d+: state_dir: \Q$file\E cannot be used \(database is locked\): expected a directory of this/m,
     'and says why');
is($daemon->stop, 0, 'the first one ends as usual');
is_deeply([glob "$daemon->{state_dir}/*"], [$file, map { "$daemon->{state_dir}/headgate.$_" } qw(key seed)],
          'and leaves its file, its key and the seed');

my $none = alone(state_dir => 'none')->start;
is(store($none)->{store_state}, 'off', 'state_dir: none keeps nothing');
like($none->log, qr/ info nothing is kept over a restart: state_dir is none$/m, 'and says so');
is($none->stop, 0, 'and ends as usual');

my $wrong = alone(state_dir => "$daemon->{config}/below");
($status, $out, $err) = Headgate::run(10, Headgate::headgated(), '--config', $wrong->{config});
is($status, 73, 'a state_dir that cannot be made');
like($err,
     qr/^headgated: \S+:\d+: state_dir is '\Q$daemon->{config}\E\/below': expected a directory that can be made and /m,
     'is told');

{
    local $ENV{STATE_DIRECTORY} = Headgate::scratch() . '/systemd:/nowhere';
    my $unit = alone(state_dir => '""');
    delete $unit->{settings}{state_dir};
    $unit->write_config->start;
    is(store($unit)->{store_file}, Headgate::scratch() . '/systemd/headgate.db', 'under systemd, its directory');
    $unit->stop;
}

# ---- who may look, and what is no file ----

my $open = alone();
mkdir $open->{state_dir} or die $!;
chmod 0777, $open->{state_dir};
Headgate::write_file("$open->{state_dir}/headgate.db", '');
chmod 0666, "$open->{state_dir}/headgate.db";
$open->start;
$open->client->command('RULE', 'SET', '{id: x, service: shop, rate: 1/s}');
my %modes = map { $_ => (stat)[2] & 07777 } glob "$open->{state_dir}/*";
cmp_ok(scalar(keys %modes), '>=', 2, 'a file, its log and its mark');
is_deeply([grep { $modes{$_} & ~0640 } keys %modes], [], 'others read none of them, though the directory is open');
like($open->log, qr/ warning state is kept in \S+: others may write it \(mode 0777\): expected 0750 or less$/m,
     'which is told of');
like($open->log, qr/ warning \S+headgate\.db could be read or written by others: its mode is 0640 or less now$/m,
     'as is the file');
$open->kill9;
for my $name (qw(headgate.db headgate.db-wal headgate.db-mark)) {
    my $victim = Headgate::write_file(Headgate::scratch() . '/victim', 'mine');
    rename "$open->{state_dir}/$name", "$open->{state_dir}/away" or die "$name: $!";
    symlink $victim, "$open->{state_dir}/$name" or die $!;
    ($status, $out, $err) = Headgate::run(10, Headgate::headgated(), '--config', $open->{config});
    is($status, 73, "$name as a symbolic link: the daemon does not start");
    like($err,
         qr/^headgated: \S+:\d+: state_dir: \S+ cannot be used \(\Q$name\E is a symbolic link\): expected a directory/m,
         'and names it');
    is(Headgate::read_file($victim), 'mine', 'what it leads to is left alone');
    unlink "$open->{state_dir}/$name";
    rename "$open->{state_dir}/away", "$open->{state_dir}/$name" or die "$name: $!";
}

# ---- a log that is damaged ----

my $log = "$open->{state_dir}/headgate.db-wal";
$open->start;
$open->client->command('RULE', 'SET', "{id: rule-$_, service: shop, rate: 1/s}") for 1 .. 5;
is($open->kill9, 137, 'kill -9');
my $bytes = Headgate::read_file($log);
substr($bytes, length($bytes) - 4120 * 4 + 100, 1) ^= "\x01";
Headgate::write_file($log, $bytes);
$open->start;
my $kept = grep { defined $open->client->command(qw(RULE GET shop), "rule-$_") } 1 .. 5;
cmp_ok($kept, '<', 5, "a bit of the log is another: of five rules $kept are there");
my $lost = 5 - $kept;
like($open->log, qr/ warning \S+ was damaged \(its last \d+ transactions are lost, of rules: $lost\): set aside /m,
     'and the rest is told of');
cmp_ok(store($open)->{store_transactions_lost}, '>=', $lost, 'INFO counts them');
is($open->stop, 0, 'it ends as usual');
# ---- a graceful end, before an interval is over ----

my $brief = alone(interval => '30s')->start;
is($brief->client->command('RULE', 'SET', '{id: calls, by: user, algorithm: quota, limit: 100, window: year}'), 'OK',
   'a quota');
my $spender = $brief->client;
$spender->pipeline(map { ['CHECK', "user$_", 'COST', '40'] } 1 .. 5000);
is($brief->stop, 0, 'SIGTERM right behind spends of 5,000 keys, long before the next tick');
$brief->start;
is_deeply([map { $_->[2] } $brief->client->pipeline(map { ['PEEK', "user$_"] } 1, 2500, 5000)], [60, 60, 60],
          'what they used is kept');
is($brief->stop, 0, 'and it ends as usual');

# ---- files that are not as they were ----

Headgate::write_file($file, 'x' x 10000);
$daemon->start;
is($daemon->client->command('CAN_ACCESS', 'alice'), 1, 'a file that is none: the daemon starts');
like($daemon->log, qr/ warning \Q$file\E was damaged \(file is not a database\): set aside as \*\.corrupt-/m,
     'and says that it was set aside');
is(scalar(my @aside = glob "$file.corrupt-*Z"), 1, 'where it is to be seen');
is(store($daemon)->{store_files_set_aside}, 1, 'INFO counts it');
is($daemon->kill9, 137, 'kill -9');
$daemon->start;
is(store($daemon)->{store_state}, 'writing', 'it starts again');
is(store($daemon)->{store_files_set_aside}, 0, 'with a whole file');
unlink glob "$daemon->{state_dir}/*";
ok(Headgate::wait_until(10, sub { $daemon->log =~ / warning \Q$file\E was gone: it is made anew$/m }),
   'a file that somebody removes is missed');
is($daemon->stop, 0, 'and the daemon ends as usual');

done_testing();
