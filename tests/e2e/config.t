#!/usr/bin/perl
# headgated's options, and what it says of a config or a system that it cannot work with.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use IO::Socket::INET;
use Test::More;

my $headgated = Headgate::headgated();
my $scratch = Headgate::scratch();

sub says {
    my ($status, $sentence, $name, @arguments) = @_;
    my ($got, $out, $err) = Headgate::run(10, $headgated, @arguments);
    is($got, $status, "$name: exit status $status");
    is($err, "headgated: $sentence\n", "$name: one sentence");
    is($out, '', "$name: nothing else");
}

my ($status, $out, $err) = Headgate::run(10, $headgated, '--version');
is($status, 0, '--version');
like($out, qr/^headgated \d+\.\d+\.\d+(?:-dev)?\n$/, 'prints it');
($status, $out, $err) = Headgate::run(10, $headgated, '--help');
is($status, 0, '--help');
like($out, qr/--config FILE.*--check-config.*--print-config/s, 'names the options');
my ($table) = Headgate::read_file("$Headgate::root/docs/operations.md") =~ /^\| `headgated` \| \|\n(.*?)\n\n/ms;
my ($exits) = $out =~ /^(Exit status: .*)/ms;
is_deeply([grep { $exits !~ /\b$_\b/ } map { /(\d+)/g } $table =~ /^\| ([\d, ]+) \|/mg], [], 'and every exit status');

says(64, '--config is missing: expected --config FILE, or --help', 'no option');
says(64, "'x.yaml' is not an option: expected --config FILE", 'a word', 'x.yaml');
($status, $out, $err) = Headgate::run(10, $headgated, '--confg', 'x');
is($status, 64, 'a misspelt option');
like($err, qr/unrecognized option '--confg'/, 'is named');

says(64, "--config is given twice, a.yaml and b.yaml: expected one config", 'two configs', '--config', 'a.yaml',
     '--check-config', '-c', 'b.yaml');

# ---- the file ----

says(66, "$scratch/none.yaml cannot be read: No such file or directory", 'no file', '-c', "$scratch/none.yaml");
says(66, "$scratch is a directory: expected a config file", 'a directory', '-c', $scratch);
says(78, "$scratch/e.yaml:1: the file is empty: expected at least the keys node and limits", 'an empty file', '-c',
     Headgate::write_file("$scratch/e.yaml", ''));
says(78, "$scratch/b.yaml:1: this is not text (control characters are not allowed at byte 0): expected YAML in UTF-8",
     'a binary', '-c', Headgate::write_file("$scratch/b.yaml", "\x7fELF\x01\x02"));
says(78, "$scratch/z.yaml:2: secret has a character that cannot be printed: expected plain text",
     'a secret with a zero byte', '-c', Headgate::write_file("$scratch/z.yaml", qq{node: a\nsecret: "a\\0b"\n}));
says(78, "$scratch/y.yaml:6: limits[0].rate is given twice, first in line 5: expected it once",
     'a key that is there twice', '-c',
     Headgate::write_file("$scratch/y.yaml", "node: a\nlimits:\n- name: d\n  capacity: 1\n  rate: 1/s\n  rate: 2/s\n"));
says(78, "$scratch/r.yaml:4: limits[0].rate is '100': expected tokens per time such as 100/s, 6000/m or 5/10s",
     'a rate without its unit', '-c',
     Headgate::write_file("$scratch/r.yaml", "node: a\nlimits:\n- {name: d, capacity: 100,\n   rate: 100}\n"));
says(78, "$scratch/w.yaml:3: regions have weights that sum to 0.900000000: expected exactly 1",
     'weights that do not sum to 1', '--check-config', '-c',
     Headgate::write_file("$scratch/w.yaml", "node: a\nregion: x\nregions:\n- {name: x, weight: 0.9}\n"));

my $peers = "node: a\nregion: x\nregions: [{name: x, weight: 1}]\n"
    . "peers: [{node: b, region: x, gossip: '127.0.0.1:1'}]\nlimits: [{name: d, capacity: 10, rate: 1/s}]\n";
says(78, "$scratch/s.yaml:4: peers are named, but secret is missing: expected a long random text, "
         . 'the same at all peers, or none where no stranger can reach their ports', 'peers without a secret', '-c',
     Headgate::write_file("$scratch/s.yaml", $peers));
($status, $out, $err) = Headgate::run(10, $headgated, '--check-config', '-c',
                                      Headgate::write_file("$scratch/s.yaml", "${peers}secret: none\n"));
is("$status$err", '0', 'none is an answer as well');

# ---- limits that are too small for the shares of the daemons that the config names ----

my $small = "node: a\nregion: x\nregions: [{name: x, weight: 0.9}, {name: y, weight: 0.1}]\nsecret: none\n"
    . "peers: [{node: b, region: y, gossip: '127.0.0.1:1'}]\nlimits: [{name: d, capacity: 2, rate: 1/h, overshoot: ";
my $since = 'since each uses its share of the limit: expected overshoot:';
says(78, "$scratch/t.yaml:6: limits[0] 'd': a request of cost 1 is ever admitted at none of 2 daemons, $since "
         . "1, or a capacity or burst of 2", 'a limit that admits nothing anywhere', '--check-config', '-c',
     Headgate::write_file("$scratch/t.yaml", "${small}0}]\n" =~ s/capacity: 2/capacity: 1/r));
($status, $out, $err) = Headgate::run(10, $headgated, '--check-config', '-c',
                                      Headgate::write_file("$scratch/u.yaml", "${small}2}]\n"));
is("$status$err", '0', 'what the daemons admit together, they grant each other');
($status, $out, $err) = Headgate::run(10, $headgated, '--check-config', '-c',
                                      Headgate::write_file("$scratch/u.yaml", "${small}2}]\ngrants: false\n"));
is($status, 0, 'a limit that admits nothing in a small region is no mistake');
is($err, "headgated: $scratch/u.yaml: limits[0] 'd': a request of cost 1 is ever admitted at 1 of 2 daemons only, "
         . "$since 9, or a capacity or burst of 9\n", 'but a warning');

# ---- checking and printing ----

my @configs = (glob("$Headgate::root/config/*.yaml"), glob("$Headgate::root/config/compose/*.yaml"),
               "$Headgate::root/tests/fuzz/corpus/settings/quotes.yaml");
cmp_ok(scalar @configs, '>=', 4, 'configs come with it');
local $ENV{HEADGATE_SECRET} = 'of docker-compose.yml';
for my $config (@configs) {
    (my $name = $config) =~ s{^\Q$Headgate::root\E/}{};
    ($status, $out, $err) = Headgate::run(10, $headgated, '--config', $config, '--check-config');
    is("$status$err", '0', "$name is good");
    ($status, my $once, $err) =
        Headgate::run(10, $headgated, '--config', $config, '--print-config', '--show-secrets');
    is("$status$err", '0', "$name is printed");
    Headgate::write_file("$scratch/p.yaml", $once);
    ($status, my $twice) =
        Headgate::run(10, $headgated, '--config', "$scratch/p.yaml", '--print-config', '--show-secrets');
    is($twice, $once, "$name reads back to the same");
}

# ---- what the system refuses ----

my $cluster = Headgate::cluster(regions => ['here']);
my $daemon = $cluster->daemon('here');
my %what = (clients => qr/cannot listen on/, gossip => qr/cannot listen for peers \(gossip\) on/,
            snapshots => qr/cannot listen for peers \(snapshots\) on/);
for my $name (sort keys %what) {
    my $port = $daemon->{ports}{$name};
    my $taken = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $port, Listen => 1) or die $!;
    ($status, $out, $err) = Headgate::run(10, $headgated, '-c', $daemon->{config});
    is($status, 69, "the port for $name is in use: exit status 69");
    like($err, qr/^headgated: \Q$daemon->{config}\E:(\d+): $what{$name}.*127\.0\.0\.1:$port.* in use/, 'it says which');
    my $line = (split /\n/, Headgate::read_file($daemon->{config}))[($err =~ /:(\d+): cannot/)[0] - 1];
    like($line, qr/\b$name: .*$port/, 'and where the config names it');
    is(scalar(grep { /^headgated: / } split /\n/, $err), 1, 'in one sentence');
}

for my $name (sort keys %what) {
    local $daemon->{settings}{listen}{$name} = "203.0.113.5:$daemon->{ports}{$name}"; # of nobody
    ($status, $out, $err) = Headgate::run(10, $headgated, '-c', $daemon->write_config->{config});
    is($status, 69, "the address for $name is not this machine's: exit status 69");
    like($err, qr/$what{$name} 203\.0\.113\.5:\d+: this machine has no such address\n/, 'in a sentence');
}

SKIP: {
    skip 'no /dev/full', 6 if !-e '/dev/full';
    for my $words ('--help', '--version', "-c $daemon->{config} --print-config") {
        ($status, $out, $err) = Headgate::run(10, 'sh', '-c', "$headgated $words >/dev/full");
        is($status, 74, "$words and nowhere to write: exit status 74");
        like($err, qr/^headgated: the standard output did not take all that there is to say$/m, 'in a sentence');
    }
}

$daemon->{settings}{listen}{gossip} = 'no-such-host.invalid:7071';
$daemon->write_config;
($status, $out, $err) = Headgate::run(20, $headgated, '-c', $daemon->{config});
is($status, 68, 'a name of a host that nobody knows: exit status 68');
my $place = qr/^headgated: \Q$daemon->{config}\E:\d+: /m;
like($err, qr/${place}listen\.gossip is 'no-such-host\.invalid:7071': expected an address of this machine, a name /,
     'in a sentence with its line');
$daemon->{settings}{listen}{gossip} = "127.0.0.1:$daemon->{ports}{gossip}";
for (['state_dir', "$scratch/e.yaml/state", qr/expected a directory that can be made and written \(Not a directory\)/],
     ['refusal_log', "$scratch", qr/expected a file that can be made and written \(Is a directory\)/]) {
    my ($key, $value, $sentence) = @$_;
    my $former = $daemon->{settings}{$key};
    $daemon->{settings}{$key} = $value;
    $daemon->write_config;
    ($status, $out, $err) = Headgate::run(20, $headgated, '-c', $daemon->{config});
    is($status, 73, "$key is wrong: exit status 73");
    like($err, qr/$place$key is '\Q$value\E': $sentence\n/, 'in a sentence with its line');
    $daemon->{settings}{$key} = $former;
    delete $daemon->{settings}{$key} if !defined $former;
}
$daemon->write_config;

# ---- a lone daemon ----

$daemon->start;
my $client = $daemon->client;
like($daemon->log, qr/ info table [\d,]+ keys, [\d.]+ MiB\n/, 'it says what memory its table takes');
like($daemon->log, qr/ info listening on 127\.0\.0\.1:\d+ for clients, /, 'and where it listens');
ok($cluster->wait_met(5), 'a lone daemon is active');
is($client->command('CAN_ACCESS', 'alice'), 1, 'and decides');
is($daemon->signal('INT')->wait_end(5), 0, 'SIGINT: it ends with status 0');
ok($client->closed, 'its clients are told by the end of their connection');
like($daemon->log, qr/SIGINT: leaving the cluster\n.*here has left\n\z/s, 'and so is the log');

my $open = qr/ warning \Q$daemon->{config}\E has secrets, and everybody on this machine may read it: expected mode 6/;
for ([0644, 'a long random text', 1], [0640, 'a long random text', 0], [0644, undef, 0]) {
    my ($mode, $secret, $warns) = @$_;
    delete $daemon->{settings}{secret};
    $daemon->{settings}{secret} = $secret if defined $secret;
    $daemon->write_config;
    chmod $mode, $daemon->{config} or die;
    Headgate::write_file($daemon->{log_path}, '');
    $daemon->start;
    is($daemon->stop, 0, 'SIGTERM: the same');
    is(() = $daemon->log =~ /$open/g, $warns, sprintf '%s secret and mode %o', defined $secret ? 'a' : 'no', $mode);
}

my $low = Headgate::cluster(regions => ['low'], max_connections => 100_000)->daemon('low');
Headgate::spawn("$scratch/low", "$scratch/low", 'sh', '-c', 'ulimit -n 700; exec "$@"', 'sh', $headgated, '-c',
                $low->{config});
ok(Headgate::wait_until(10, sub { Headgate::read_file("$scratch/low") =~ / info listening / }),
   'few file descriptors: it starts');
like(Headgate::read_file("$scratch/low"),
     qr/^headgated: max_connections is 100000, but only 700 file descriptors are allowed \(ulimit -n\): /,
     'and says what that means');

done_testing();
