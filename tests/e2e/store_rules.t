#!/usr/bin/perl
# Rules and quotas over restarts of one and of all, however they end, and over disks that are full or damaged.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Test::More;
use Time::HiRes qw(time);

sub flat { my ($reply) = @_; return ref $reply eq 'ARRAY' ? join ' ', map { flat($_) } @$reply : $reply // '-' }
sub ask { my ($daemon, @words) = @_; return flat($daemon->client->command(@words)) }
sub store { my ($daemon) = @_; return $daemon->client->fields('INFO', 'store') }
sub text { my ($daemon, $id) = @_; return ask($daemon, qw(RULE GET shop), $id) }
sub alone { return Headgate::cluster(regions => ['here'], interval => '50ms', @_)->daemon('here') }

# Everything that was said so far is in the file: nothing waits, and nothing comes for some intervals.
sub settled {
    my (@daemons) = @_;
    my %before;
    return Headgate::wait_until(20, sub {
        my $same = 1;
        for my $daemon (@daemons) {
            my $store = store($daemon);
            my $now = join ' ', time > ($before{time} // 0) + 0.5 ? 1 : 0, map { $store->{"store_$_"} }
                qw(counters_written versions_written counters_waiting versions_waiting);
            my ($due, $figures) = $now =~ /^(\d) (.*)/;
            $same = 0 if !$due || $figures !~ / 0 0$/ || $figures ne ($before{$daemon->{name}} // '');
            $before{$daemon->{name}} = $figures if $due;
        }
        $before{time} = time if time > ($before{time} // 0) + 0.5;
        return $same;
    });
}

# How many single tokens of org=acme's month are handed out before all daemons refuse.
sub take_all {
    my ($most, @daemons) = @_;
    my ($taken, $refused) = (0, 0);
    my @clients = map { $_->client } @daemons;
    my $deadline = time + 20 * $Headgate::patience;
    while ($refused < 40 && $taken < $most && time < $deadline) {
        my $any = 0;
        for my $client (@clients) {
            my $reply = $client->command(qw(CHECK org=acme SERVICE shop));
            $any = 1, $taken++ if ref $reply eq 'ARRAY' && $reply->[0] && $taken < $most;
        }
        $refused = $any ? 0 : $refused + 1;
        select undef, undef, undef, 0.02 if !$any; # for what is spent to become known
    }
    return $taken;
}

my $quota = "rules:\n- {id: month, service: shop, by: org, algorithm: quota, limit: 90, window: month, overshoot: 0}\n";

# ---- one daemon, killed ----

my $daemon = alone()->start;
is(ask($daemon, qw(RULE APPLY), $quota, 'NOTE', 'first'), 1, 'a quota is applied');
is(take_all(50, $daemon), 50, 'more than half of it is used up');
my ($rule, $history) = (text($daemon, 'month'), ask($daemon, qw(RULE HISTORY shop month)));
like($history, qr/first/, 'there is a history');
ok(settled($daemon), 'an interval later all is in the file');
is($daemon->kill9, 137, 'kill -9');
$daemon->start;
is(text($daemon, 'month'), $rule, 'the rule is there');
is(ask($daemon, qw(RULE HISTORY shop month)), $history, 'with its history');
is((split / /, ask($daemon, qw(PEEK org=acme SERVICE shop)))[2], 40, 'and the month goes on where it was');
unlink glob "$daemon->{state_dir}/*";
ok(Headgate::wait_until(10, sub { $daemon->log =~ /headgate\.db was gone: it is made anew/ }), 'its file is removed');
ok(settled($daemon), 'all is written anew');
$daemon->kill9;
$daemon->start;
is(ask($daemon, qw(RULE HISTORY shop month)), $history, 'the history is there');
is((split / /, ask($daemon, qw(PEEK org=acme SERVICE shop)))[2], 40, 'and so is the month');
is(ask($daemon, qw(RULE DEL shop month)), 1, 'a rule is deleted');
is($daemon->stop, 0, 'an orderly end');
$daemon->start;
is(text($daemon, 'month'), '-', 'it stays deleted');
is($daemon->stop, 0, 'and ends');

# ---- killed in the middle of a change ----

my $seed = $ENV{HEADGATE_SEED} // time * 1000 % 1000000;
srand $seed;
note("HEADGATE_SEED=$seed");
my ($halves, $gone, $newest) = (0, 0, 0);
for my $round (1 .. 10) {
    $daemon->start;
    my $client = $daemon->client;
    my $answered = 0;
    $client->send_raw(join '', map {
        my $n = $round * 100 + $_;
        Headgate::Client::encode('RULE', 'APPLY', "rules:\n"
            . join '', map { "- {id: part-$_, service: shop, rate: $n/s}\n" } 1 .. 12)
    } 1 .. 50);
    $client->reply for 1 .. int rand 50;
    select undef, undef, undef, rand 0.01;
    $daemon->kill9;
    $daemon->start;
    my %seen = map { (text($daemon, "part-$_") =~ /rate: (\d+)/ ? $1 : 'none') => 1 } 1 .. 12;
    $halves++ if keys %seen != 1;
    $gone++ if exists $seen{none} && $newest > 0;
    $newest = (keys %seen)[0] if !exists $seen{none};
    $daemon->kill9;
}
is($halves, 0, 'killed in the middle of changes of twelve rules: no change is there by half');
is($gone, 0, 'and what was there stays');
cmp_ok($newest, '>', 100, "changes do arrive (the last one: $newest)");

# ---- three regions ----

my $cluster = Headgate::cluster(interval => '50ms')->start;
my @daemons = $cluster->daemons;
my ($east, $west, $south) = @daemons;
ok($cluster->wait_met, 'three regions have met');
is(ask($east, qw(RULE APPLY), $quota), 1, 'a month for all of them');
ok(Headgate::wait_until(10, sub { 3 == grep { text($_, 'month') =~ /90/ } @daemons }), 'which all know');
my $taken = take_all(60, @daemons);
cmp_ok($taken, '>=', 55, "they hand out $taken of 90 tokens");
ok(settled(@daemons), 'and keep that');
$_->kill9 for @daemons;
$_->spawn for @daemons;
$_->wait_listening(10) for @daemons;
ok($cluster->wait_met, 'all are killed, start again and meet');
is(scalar(grep { text($_, 'month') =~ /90/ } @daemons), 3, 'they know the rule');
my $rest = take_all(90, @daemons);
cmp_ok($taken + $rest, '<=', 90, "nobody gets a fresh month: $taken and $rest of 90");
cmp_ok($taken + $rest, '>=', 70, 'and most of the rest can be used');

# Both sides of a partition change the same rule, then all restart.
for my $name (qw(us-east eu-west)) {
    ask($south, qw(DEBUG DROP), $name);
    ask($cluster->daemon($name), qw(DEBUG DROP ap-south));
}
ask($east, 'RULE', 'APPLY', $quota =~ s/90/91/r, 'NOTE', 'by the east');
ask($south, 'RULE', 'APPLY', $quota =~ s/90/92/r, 'NOTE', 'by the south');
ok(Headgate::wait_until(10, sub { text($west, 'month') =~ /91/ }), 'a partition: one side has one text');
like(text($south, 'month'), qr/92/, 'the other side another');
ok(settled(@daemons), 'all keep what they know');
$_->kill9 for @daemons;
$_->spawn for @daemons;
$_->wait_listening(10) for @daemons;
ok(Headgate::wait_until(10, sub {
    my %texts = map { text($_, 'month') => 1 } @daemons;
    my %histories = map { ask($_, qw(RULE HISTORY shop month)) => 1 } @daemons;
    return 1 == keys %texts && 1 == keys %histories;
}), 'after a restart of all, they agree');
my $both = ask($west, qw(RULE HISTORY shop month));
ok($both =~ /by the east/ && $both =~ /by the south/, 'and both edits are in the history');

# ---- damaged files ----

my $file = "$south->{state_dir}/headgate.db";
$south->stop;
truncate $file, int((-s $file) / 2) or die "$file: $!";
$south->start;
ok(Headgate::wait_until(10, sub { text($south, 'month') eq text($west, 'month') }),
   'a file that was cut off: the rules come from the peers');
like($south->log, qr/ warning \Q$file\E was damaged \(.*\): set aside as \*\.corrupt-/, 'it is said');
$south->stop;
open my $scribble, '+<', $file or die "$file: $!";
for my $page (1 .. (-s $file) / 4096 - 1) {
    seek $scribble, $page * 4096, 0;
    print $scribble map { chr int rand 256 } 1 .. 4096;
}
close $scribble;
$south->start;
ok(Headgate::wait_until(10, sub { text($south, 'month') eq text($west, 'month') }),
   'a file that was scribbled on: the rules come from the peers');
is(scalar(my @aside = glob "$file.corrupt-*Z"), 2, 'both files are set aside');
ok(settled($south), 'and what the peers said is kept');
ok($cluster->stop, 'all end as they should') or diag(map { $_->log } @daemons);
$south->start;
like(text($south, 'month'), qr/limit: 9[12]/, 'it knows the rule by itself now');
$south->stop;

# ---- a full disk ----

my $mounted;
END { system 'umount', '-l', $mounted if defined $mounted }

SKIP: {
    my $place = Headgate::scratch() . '/tiny';
    mkdir $place or die "$place: $!";
    skip 'only root can make a tiny disk', 12
        if $> != 0 || system("mount -t tmpfs -o size=1m none $place 2>/dev/null") != 0;
    $mounted = $place;
    my $full = alone(state_dir => "$place/state")->start;
    is(ask($full, qw(RULE APPLY), $quota), 1, 'a disk of 1 MiB: a quota is applied');
    is(take_all(10, $full), 10, 'and used');
    ok(settled($full), 'and kept');
    open my $filler, '>', "$place/filler" or die $!;
    syswrite $filler, 'x' x 1024 for 1 .. 2048;
    close $filler;
    my $begun = time;
    # New keys need room, old ones soon do: the log of the file grows with each interval.
    my $said = Headgate::wait_until(10, sub {
        ask($full, 'CHECK', 'org=' . rand, qw(SERVICE shop));
        return $full->log =~ /cannot be written \(.*\): rules and counters wait in memory/;
    });
    ok($said, sprintf 'it is full: that is said, %.0f ms later', (time - $begun) * 1000);
    is(take_all(10, $full), 10, 'decisions go on');
    is(store($full)->{store_state}, 'failing', 'INFO says so, too');
    my $other = Headgate::write_file(Headgate::scratch() . '/other.yaml', "{id: o, service: other, rate: 10/h}\n");
    my ($status, undef, $why) = $full->headgate('rules', 'apply', $other, '--timeout', '15s');
    is($status, 74, 'headgate rules apply ends with a status of its own');
    like($why, qr/^headgate rules apply: NOTKEPT the change is in force and told to peers/, 'as it is in force');
    is(($full->headgate('rules', 'apply', $other, '--watch', '5m'))[0], 65, 'what the daemon refuses has another one');
    unlink "$place/filler";
    ok(Headgate::wait_until(10, sub { $full->log =~ /headgate\.db is written again, after \d+ ms/ }),
       'there is room again: that is said');
    ok(settled($full), 'what waited is written');
    $full->kill9;
    $full->start;
    is((split / /, ask($full, qw(PEEK org=acme SERVICE shop)))[2], 70, 'and nothing is missing');
    $full->kill9;
    undef $mounted if system('umount', '-l', $place) == 0;
}

# There is room for bytes, and for no further file: the daemon starts all the same, as on a disk that is full.
SKIP: {
    my $place = Headgate::scratch() . '/few';
    mkdir $place or die "$place: $!";
    skip 'only root can make a disk for few files', 5
        if $> != 0 || system("mount -t tmpfs -o size=4m,nr_inodes=3 none $place 2>/dev/null") != 0;
    $mounted = $place;
    my $few = alone(state_dir => "$place/state")->start;
    my $said = ' warning \S+headgate\.db cannot be written \(it cannot be opened \(No space left on device\)\): ';
    ok(Headgate::wait_until(10, sub { $few->log =~ $said }), 'a disk for few files: that is said') or diag $few->log;
    like(ask($few, qw(RULE APPLY), $quota), qr/^NOTKEPT /, 'the daemon serves');
    ok(-e "$place/state/headgate.db", 'there was room for one file');
    is(system('mount', '-o', 'remount,nr_inodes=50', $place), 0, 'then there is room for more');
    ok(settled($few), 'what waited is written');
    $few->kill9;
}

done_testing();
