#!/usr/bin/perl
# Secrets of the cluster in files and in the environment: a rotation that rewrites files and no config, mistakes in
# them, and where no secret is ever shown.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Rotation;
use Test::More;

my $scratch = Headgate::scratch();
my @regions = qw(us-east eu-west ap-south);
my @secrets = ('of the past 1', 'of the present 2', 'of the future 3');

# A file that only its owner reads, with an end of line, as an editor leaves it; renamed into place, as a tool does.
sub put {
    my ($path, $secret) = @_;
    Headgate::write_file("$path.new", "$secret\n");
    chmod 0600, "$path.new" or die;
    rename "$path.new", $path or die;
    return $path;
}

sub says {
    my ($daemon, $sentence, $name) = @_;
    my ($status, undef, $err) = Headgate::run(10, Headgate::headgated(), '-c', $daemon->{config}, '--check-config');
    is($status, 78, "$name: exit status 78");
    like($err, qr/^headgated: \Q$daemon->{config}\E:\d+: $sentence\n\z/, 'in one sentence');
}

sub shown { my ($text) = @_; return [grep { index($text, $_) >= 0 } @secrets] }

subtest 'a rotation by files' => sub {
    my %own = map {
        my $name = $_;
        my %file = map { $_ => put("$scratch/$name.$_", $secrets[0]) } qw(present former seed);
        ($name => {secrets => [{secret_file => $file{present}}, {secret_file => $file{former}}],
                   hash_seed_file => $file{seed}});
    } @regions;
    my $cluster = Headgate::cluster(%Rotation::options, nodes => \%own, log_level => 'debug');
    delete $_->{settings}{secret}, $_->write_config for $cluster->daemons;
    $cluster->start;
    ok($cluster->wait_met(20), 'three daemons whose secrets stand in files');
    my @daemons = $cluster->daemons;
    Rotation::under_load($cluster, @secrets[0, 1], sub {
        my ($one, $present, $former) = @_;
        put("$scratch/$one->{name}.present", $present);
        put("$scratch/$one->{name}.former", $former // $present);
    });

    # A mistake leaves all as it was, and is said.
    my $before = length $daemons[0]->log;
    chmod 0644, "$scratch/$daemons[0]{name}.present";
    $daemons[0]->signal('HUP');
    my $expected = 'expected a file that others cannot read';
    my $open = qr/nothing is changed: \S+:\d+: secrets\[0\]\.secret_file is '\S+': $expected/;
    ok(Headgate::wait_until(10, sub { substr($daemons[0]->log, $before) =~ $open }), 'an open file is refused');
    put("$scratch/$daemons[0]{name}.present", $secrets[0]);
    $daemons[0]->signal('HUP');
    ok(Headgate::wait_until(20, sub { (Rotation::figures('messages_unsealed', @daemons))[1] > 0 }),
       'the old one is worth nothing now');
    is_deeply(shown(join '', map { $_->client->command('INFO', 'everything') } @daemons), [], 'INFO has no secret');
    ok($cluster->stop, 'they end');
    is_deeply(shown(join '', map { $_->log } @daemons), [], 'the log has no secret, not even with debug');
};

subtest 'one secret' => sub {
    my $daemon = Headgate::cluster(regions => ['here'])->daemon('here');
    my $file = put("$scratch/secret", $secrets[1]);
    my $settings = $daemon->{settings};
    delete $settings->{secret};
    @$settings{qw(secret_file hash_seed_env password_env)} = ($file, 'HEADGATE_TEST_SEED', 'HEADGATE_TEST_PASSWORD');
    local $ENV{HEADGATE_TEST_SEED} = $secrets[0];
    local $ENV{HEADGATE_TEST_PASSWORD} = $secrets[2];
    $daemon->write_config;
    my @print = (Headgate::headgated(), '-c', $daemon->{config}, '--print-config');
    for my $more ([], ['--show-secrets']) {
        my ($status, $out, $err) = Headgate::run(10, @print, @$more);
        is("$status$err", '0', "--print-config @$more");
        is_deeply(shown($out), [], 'shows no secret that stands elsewhere');
        like($out, qr/^secret_file: \Q$file\E\nhash_seed_env: HEADGATE_TEST_SEED\npassword_env: HEADGATE_TEST_P/m,
             'but where it is');
    }
    chmod 0644, $daemon->{config};
    $daemon->spawn;
    my $client;
    ok(Headgate::wait_until(20, sub { $client = eval { $daemon->client } or return 0; '' . $client->command('PING') }),
       'a daemon whose secrets stand elsewhere starts');
    is('' . $client->command('AUTH', $secrets[2]), 'OK', 'the password of the environment is right');
    my $fingerprint = $client->fields('INFO', 'cluster')->{hash_seed_fingerprint};
    my $weak = qr/ warning a secret of peers is so short that it can be guessed: expected a long random text, /;
    unlike($daemon->log, $weak, 'a long secret is not called weak');
    put($file, 'short');
    is_deeply($client->command('RELOAD')->[1], ['secret'], 'another secret in the file is taken over by RELOAD');
    ok(Headgate::wait_until(10, sub { $daemon->log =~ $weak }), 'and the log says what it is worth');
    put($file, $secrets[0]);
    is_deeply($client->command('RELOAD')->[1], ['secret'], 'a long one again');
    is($client->fields('INFO', 'cluster')->{hash_seed_fingerprint}, $fingerprint, 'keys are counted as before');
    is($daemon->stop, 0, 'it ends');
    unlike($daemon->log, qr/ has secrets, and everybody/, 'its config may be read by everybody');

    put($file, 'none');
    says($daemon, qr/secret_file is '\Q$file\E': expected a long random text there, and not none: .*/, 'none');
    unlink $file;
    says($daemon, qr/secret_file is '\Q$file\E': expected a file with a secret in its first line, but .*/, 'no file');
    put($file, '');
    says($daemon, qr/secret_file is '\Q$file\E': expected a file whose first line has 1 to 256 bytes/, 'an empty file');
    put($file, $secrets[1]);
    delete $ENV{HEADGATE_TEST_SEED};
    says($daemon, qr/hash_seed_env is 'HEADGATE_TEST_SEED': expected a variable with 1 to 256 bytes/, 'no variable');
};

done_testing();
