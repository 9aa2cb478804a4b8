#!/usr/bin/perl
# docs/examples/daemons.c and its fellows in other languages through daemons that are killed, stopped and started again:
# every request is answered, what was sent and not answered is not sent again, and the nearest daemon answers again once
# it is back. Languages whose programs are not here are left out.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use IPC::Open2;
use Test::More;

my $scratch = Headgate::scratch();
my @limits = ({name => 'default', capacity => 1000, rate => '1/h', default => 'true'});
my $cluster = Headgate::cluster(regions => ['near', 'far'], limits => \@limits, interval => '20ms')->start;
$cluster->wait_met(60) or die 'the daemons did not meet';
my @daemons = map { $cluster->daemon($_) } qw(near far);
my @addresses = map { "127.0.0.1:$_->{ports}{clients}" } @daemons;

my $root = $Headgate::root;
my ($status, $out, $err) = Headgate::run(60, 'sh', '-c', "gcc -std=c11 '$root/docs/examples/daemons.c' "
    . "-I'$root/include' '$Headgate::build/libheadgate.a' -lsodium -lssl -lcrypto -o '$scratch/daemons'");
is($status, 0, 'the example is built') or diag($err);

# What runs the examples: {language => [words]}, or a reason why not.
my $examples = "$root/docs/examples";
my %run = (C => ["$scratch/daemons"], Python => ['/usr/bin/python3', "$examples/daemons.py"]);
sub prepare {
    my ($language, $needs, $prepare, @words) = @_;
    return $run{$language} = "no $needs" if system("command -v $needs >/dev/null 2>&1") != 0;
    my ($status, $out, $err) = Headgate::run(300, 'sh', '-c', $prepare);
    return $run{$language} = $status == 0 ? \@words : (split /\n/, "$err$out", 2)[0] // "status $status";
}
prepare('Java', 'javac', "javac -Xlint:all -Werror -d '$scratch' '$examples/Daemons.java'",
        'java', '-cp', $scratch, 'Daemons');
prepare('Go', 'go', "HOME='$scratch' go build -o '$scratch/daemons-go' '$examples/daemons.go'", "$scratch/daemons-go");
# No registry of Debian's has go-redis: HEADGATE_GO_REDIS names the folder of a Go module that requires it.
$run{'go-redis'} = 'HEADGATE_GO_REDIS names no module that has go-redis';
prepare('go-redis', 'go', "cd '$ENV{HEADGATE_GO_REDIS}' && HOME='$scratch' go build -o '$scratch/goredis' "
        . "'$examples/goredis.go'", "$scratch/goredis") if $ENV{HEADGATE_GO_REDIS};
prepare('Node.js', 'npm',
        "cp -r '$root/tests/e2e/node' '$scratch/node' && cd '$scratch/node' && npm ci --no-audit --no-fund",
        'env', "NODE_PATH=$scratch/node/node_modules", 'node', "$examples/daemons.js");

# A signal to stop reaches the threads one by one.
sub all_stand_still {
    my ($pid) = @_;
    return !grep { Headgate::read_file($_) !~ /^\d+ \(.*\) T /s } glob "/proc/$pid/task/*/stat";
}

for my $language ('C', 'Python', 'Node.js', 'Go', 'go-redis', 'Java') {
    subtest $language => sub {
        plan skip_all => $run{$language} if !ref $run{$language};
        my @words = @{$run{$language}};
        my $pid = open2(my $from, my $to, @words, @addresses);
        my $ask = sub {
            my ($name, $sent) = @_;
            syswrite $to, "$name\n";
            $sent->() if $sent;
            my $line = <$from> // '';
            return $line =~ /^\Q$name\E: (go ahead|not now), said by (\S+?)(, and perhaps charged)?$/
                ? {allowed => $1 eq 'go ahead', by => $2, perhaps => !!$3} : {by => "?: $line"};
        };
        my $name = lc $language;
        is($ask->($name)->{by}, $addresses[0], 'the nearest is asked');
        # The program runs again when the daemon is gone and somebody asks: it may hear of both in the same instant.
        kill STOP => $pid;
        ok(Headgate::wait_until(10, sub { all_stand_still($pid) }), 'the program stands still');
        $daemons[0]->kill9;
        my @said = ($ask->($name, sub { kill CONT => $pid }), map { $ask->($name) } 2 .. 20);
        is(scalar(grep { $_->{by} eq $addresses[1] } @said), 20, 'killed: the other one answers all');
        $daemons[0]->spawn;
        my $back;
        ok(Headgate::wait_until(120, sub { ($back = $ask->($name))->{by} eq $addresses[0] }), 'started: asked again');
        ok($back->{allowed}, 'when it has a share');
        $daemons[0]->signal('STOP');
        ok(Headgate::wait_until(10, sub { all_stand_still($daemons[0]{pid}) }), 'all of its threads stand still');
        my $lost = $ask->($name);
        is($lost->{by}, 'nobody', 'stopped: what was sent is not sent again');
        is($ask->($name)->{by}, $addresses[1], 'the next request goes to the other');
        $daemons[0]->signal('CONT');
        ok(Headgate::wait_until(120, sub { $ask->($name)->{by} eq $addresses[0] }), 'and back');
        close $to;
        waitpid $pid, 0;
        is($?, 0, 'it ends in peace');
    };
}
# A daemon that hears none of its peers and waits for them: it takes connections, and refuses everything.
my $waiting = Headgate::cluster(regions => ['here', 'gone'], limits => \@limits, join_timeout => '0s')->daemon('here');
$waiting->spawn;
my $peek = sub { eval { $waiting->client->command('PEEK', 'anybody', 'VERBOSE')->[6][0] } };
ok(Headgate::wait_until(20, sub { grep { $_ eq 'not_ready' } @{$peek->() // []} }), 'a daemon has no share');
Headgate::write_file("$scratch/names", join '', map { "name-$_\n" } 1 .. 5);
for my $language (grep { ref $run{$_} } sort keys %run) {
    my $command = "'" . join("' '", @{$run{$language}}) . "' 127.0.0.1:$waiting->{ports}{clients} $addresses[1]";
    ($status, $out, $err) = Headgate::run(60, 'sh', '-c', "$command <'$scratch/names'");
    is($out, join('', map { "name-$_: go ahead, said by $addresses[1]\n" } 1 .. 5), "$language: the other one is asked")
        or diag($err);
}
ok($cluster->stop(60), 'so do the daemons');
done_testing();
