#!/usr/bin/perl
# What hashes of keys come from is kept beside the counters: whatever happens to the secret, what is left of a quota
# stays.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Test::More;

my $daemon = Headgate::cluster(regions => ['here'], secret => 'the old one')->daemon('here');
my $settings = $daemon->{settings};
my $dir;

sub under {
    my (%texts) = @_;
    delete @$settings{qw(secret secrets hash_seed)};
    @$settings{keys %texts} = values %texts;
    my $before = length $daemon->log;
    $daemon->write_config->start;
    return substr $daemon->log, $before;
}

sub left { return $daemon->client->command('PEEK', "user=$_[0]", qw(SERVICE shop))->[2] }
sub fingerprint { return $daemon->client->fields('INFO', 'cluster')->{hash_seed_fingerprint} }

sub text {
    my ($name) = @_;
    return eval { Headgate::read_file("$dir/$name") } // '';
}

my $log = under(secret => 'the old one');
($dir) = $log =~ / state is kept in (\S+)/ or BAIL_OUT("no state: $log");
unlike($log, qr/seed/, 'nothing is to be said of a seed');
my $rule = '{id: q, service: shop, by: user, algorithm: quota, limit: 100, window: year}';
is($daemon->client->command('RULE', 'SET', $rule), 'OK', 'a quota of a year');
is($daemon->client->command('CHECK', qw(user=ann SERVICE shop COST 50))->[2], 50, 'half of it is used');
my $old = fingerprint();
my ($line) = text('headgate.seed') =~ /^hash_seed: (key:[0-9a-f]{32})$/m;
like(text('headgate.seed'), qr/^# fingerprint $old$/m, 'the seed is kept, with the fingerprint that INFO has');
is(sprintf('%04o', (stat "$dir/headgate.seed")[2] & 07777), '0600', 'for the daemon alone');
is($daemon->stop, 0, 'it ends');

subtest 'another secret' => sub {
    $log = under(secret => 'a new one');
    my $said = qr/ warning hashes of keys come from \S+ \(fingerprint $old\), not from the secret \((\w+)\), /;
    like($log, $said, 'the log says so, with both fingerprints');
    isnt($log =~ $said && $1, $old, 'which differ');
    is(left('ann'), 50, 'what is left stays');
    is(fingerprint(), $old, 'INFO has the fingerprint of the one that is in use');
    is($daemon->client->command('CHECK', qw(user=ann SERVICE shop COST 10))->[2], 40, 'more is used');
    is($daemon->stop, 0, 'it ends');
    unlike(under(secret => 'a new one', hash_seed => $line), qr/seed/, 'in the config, it is no news any more');
    is(left('ann'), 40, 'and counts on');
    is($daemon->stop, 0, 'it ends');
    is_deeply([(under(secrets => ['a third one', 'a new one'], hash_seed => $line)) =~ /seed/g], [],
              'a rotation goes on from there');
    is($daemon->stop, 0, 'it ends');
    under();
    is(left('ann'), 40, 'a config that has lost both goes on, too');
    is($daemon->stop, 0, 'it ends');
};

subtest 'another seed' => sub {
    $log = under(secret => 'a new one', hash_seed => 'anew');
    my $said = qr/ warning hash_seed \(fingerprint (\w{16})\) is not the seed that keys .* \($old\)/;
    like($log, $said, 'who asks for it is told what it means, with both fingerprints');
    like($log, qr/: 1 counters are under another secret: they are kept until their time is over/, 'how many lie aside');
    is($log =~ $said && $1, fingerprint(), 'and it is in use');
    is(left('ann'), 100, 'a fresh year');
    like(text('headgate.seed.former'), qr/^hash_seed: $line$/m, 'the former one is not lost');
    is($daemon->stop, 0, 'it ends');
    $log = under(secret => 'a new one', hash_seed => $line);
    like($log, qr/ 1 counters are under this secret again, and used$/m, 'back');
    is(left('ann'), 40, 'with what was left');
    is($daemon->stop, 0, 'it ends');
};

subtest 'a file that is not whole' => sub {
    my $whole = text('headgate.seed');
    Headgate::write_file("$dir/headgate.seed", $whole =~ s/(key:.)./$1-/r);
    $log = under(secret => 'the old one');
    like($log, qr/ warning headgate.seed is of no use \(it is not as headgated wrote it\): hashes of keys come from /,
         'it is said');
    is(left('ann'), 40, 'the secret is used');
    isnt(text('headgate.seed'), $whole, 'and nobody writes over it');
    is($daemon->stop, 0, 'it ends');
    unlink "$dir/headgate.seed";
    unlike(under(secret => 'the old one'), qr/seed/, 'without one');
    is(text('headgate.seed'), $whole, 'it is made again');
    is($daemon->stop, 0, 'it ends');
};

subtest 'without the counters' => sub {
    my $missing = qr{ warning $dir/headgate\.db is missing, though a daemon has kept files beside it before: };
    unlike($daemon->log, $missing, 'until now they were there');
    unlink "$dir/headgate.db" or die $!;
    like(under(secret => 'the old one'), $missing, 'a file that is gone is told of');
    is($daemon->client->command('RULE', 'SET', $rule), 'OK', 'it is made anew');
    is(left('ann'), 100, 'and counts from the beginning');
    is($daemon->stop, 0, 'it ends');
    unlike(under(secret => 'the old one'), $missing, 'once');
    is($daemon->stop, 0, 'it ends');
};

subtest 'mistakes' => sub {
    @$settings{qw(secret hash_seed)} = ('a', substr $line, 0, -1);
    $daemon->write_config;
    my @check = (Headgate::headgated(), '--config', $daemon->{config}, '--check-config');
    my ($status, undef, $err) = Headgate::run(10, @check);
    is($status, 78, 'a key that is cut off');
    like($err, qr/: hash_seed begins with key:: expected 32 hexadecimal digits after that, as in the file headgate/,
         'is named');
};

done_testing();
