#!/usr/bin/perl
# Daemons with several threads: whatever thread serves whom, there is one limit, one book of rules, one end.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Http;
use List::Util qw(sum max);
use POSIX ();
use Test::More;
use Time::HiRes qw(time);

my @limits = (
    {name => 'default', capacity => 1000, rate => '1/h', default => 'true'},
    {name => 'wide', capacity => 1000000, rate => '1/h'},
);
my %options = (regions => ['here'], limits => \@limits, threads => 3);
my $cluster = Headgate::cluster(%options)->start;
my $daemon = $cluster->daemon('here');
$cluster->wait_met or BAIL_OUT('the daemon did not become active');

# Runs `work` in `count` processes at the same time, each with a number; their values (lists of words), by number.
sub at_once {
    my ($count, $work) = @_;
    my @children;
    for my $number (1 .. $count) {
        my $file = Headgate::scratch() . "/child-$number";
        unlink $file;
        my $pid = fork // die "fork: $!";
        if ($pid == 0) {
            my @value = eval { $work->($number) };
            @value = ("failed: $@") if $@;
            Headgate::write_file("$file.new", join "\n", @value);
            rename "$file.new", $file;
            POSIX::_exit(0);
        }
        $Headgate::running{$pid} = 1;
        push @children, [$pid, $file];
    }
    return @children;
}

sub values_of {
    my @children = @_;
    my @values;
    for (@children) {
        my ($pid, $file) = @$_;
        waitpid $pid, 0;
        delete $Headgate::running{$pid};
        push @values, [split /\n/, Headgate::read_file($file)];
    }
    return @values;
}

sub failures { return grep { /^failed/ } map { @$_ } @_ }

subtest 'readers of /v1/live come and go' => sub {
    my $served = Headgate::cluster(%options, listen_http => 1)->start->daemon('here');
    my $client = $served->client;
    my @readers = at_once(4, sub {
        for (1 .. 4) {
            my $reader = Http::connect($served);
            $reader->send_raw("GET /v1/live HTTP/1.1\r\nHost: a\r\n\r\n");
            $reader->need while $reader->{buffer} !~ /\n\n/;
        }
        return 'fine';
    });
    my @counted = map { $client->fields('INFO', 'clients')->{http_live} } 1 .. 200;
    is(join(' ', map { @$_ } values_of(@readers)), 'fine fine fine fine', 'whichever thread they have');
    is(scalar(grep { $_ > 16 } @counted), 0, 'all threads count them together');
    ok(Headgate::wait_until(60, sub { $client->fields('INFO', 'clients')->{http_live} == 0 }), 'until none is left');
    is($served->stop, 0, 'the daemon ends in peace');
};

subtest 'connections are dealt out' => sub {
    my @clients = map { $daemon->client } 1 .. 60;
    my %ids = map { $_->command('CLIENT', 'ID') => 1 } @clients;
    is(keys %ids, 60, 'each has a number of its own');
    my $info = $clients[0]->fields('INFO', 'server', 'clients');
    is($info->{threads}, 3, 'INFO says how many threads there are');
    my @connected = map { $info->{"thread_$_"} =~ /connected_clients=(\d+)/ } 0 .. 2;
    is(sum(@connected), $info->{connected_clients}, 'the connections of all add up (' . join('+', @connected) . ')');
    is(3, (grep { $_ > 0 } @connected), 'each thread has some');
    my @processed = map { $info->{"thread_$_"} =~ /total_commands_processed=(\d+)/ } 0 .. 2;
    is(sum(@processed), $info->{total_commands_processed}, 'so do the commands');
};

subtest 'one limit' => sub {
    for my $depth (1, 20) {
        my @values = values_of(at_once(6, sub {
            my @clients = map { $daemon->client } 1 .. 4;
            my $allowed = 0;
            for (1 .. 400 / $depth) {
                $_->send_raw(Headgate::Client::encode('CAN_ACCESS', "depth-$depth") x $depth) for @clients;
                for my $client (@clients) {
                    $allowed += $client->reply for 1 .. $depth;
                }
            }
            return $allowed;
        }));
        is_deeply([failures(@values)], [], "$depth at a time");
        is(sum(map { @$_ } @values), 1000, 'so much is handed out as there is, to the token');
    }
};

# Every command from every connection, in pipelines whose answers are known.
subtest 'all kinds of commands at the same time' => sub {
    my ($workers, $rounds) = (5, 60);
    my $before = $daemon->client->fields('INFO', 'clients', 'stats');
    my @values = values_of(at_once($workers, sub {
        my ($number) = @_;
        my @clients = map { $daemon->client } 1 .. 3;
        my ($sent, $allowed) = (0, 0);
        for my $round (1 .. $rounds) {
            for my $client (@clients) {
                my $rule = "{id: r$number, service: s$number, rate: $round/s, burst: 1000000}";
                my @commands = (
                    ['CAN_ACCESS', 'shared'], ['ECHO', "a$round"], ['RULE', 'SET', $rule],
                    ['RULE', 'GET', "s$number", "r$number"], ['CHECK', 'shared', 'RULE', 'wide'],
                    ['INFO', 'rules', 'clients'], ['CHECK', "u$round", 'SERVICE', "s$number"],
                    ['PEEK', 'shared'], ['ECHO', "b$round"],
                    ['THROTTLE', "t$number", 5, $round + 100 * $number, 60], ['CAN_ACCESS', 'shared'],
                    ['RESERVE', "v$round", 'TTL', 1000, 'RULE', 'wide'],
                    ['CL.THROTTLE', "c$round", 9, 1, 60, -1],
                    ['REFUND', 'shared', 'RULE', 'wide'], ['RESET', "u$round"],
                    ['HEALTH', "s$number", '0.9'], ['NODES'],
                    ['ECHO', "c$round"], ['EXPLAIN', 'shared'], ['CAN_ACCESS', "own-$number-$round"],
                );
                my @replies = $client->pipeline(@commands);
                $sent += @commands;
                for (grep { $commands[$_][0] eq 'ECHO' } 0 .. $#commands) {
                    die "ECHO: $replies[$_]" if $replies[$_] ne $commands[$_][1];
                }
                die "RULE SET: $replies[2]" if $replies[2] ne 'OK';
                die "RULE GET: $replies[3]" if $replies[3] !~ /^rate: $round\/s$/m;
                die "CHECK: @{$replies[6]}" if $replies[6][0] != 1 || $replies[6][5] ne "r$number";
                my @errors = grep { ref $replies[$_] eq 'Headgate::Error' } 0 .. $#replies;
                die "$commands[$errors[0]][0]: $replies[$errors[0]]" if @errors;
                $allowed += $replies[0] + $replies[10];
                die 'a key of its own' if $replies[19] != 1;
            }
        }
        return ($sent, $allowed);
    }));
    is_deeply([failures(@values)], [], 'all are answered, in order');
    is(sum(map { $_->[1] } @values), 1000 < 2 * 3 * $workers * $rounds ? 1000 : 2 * 3 * $workers * $rounds,
       'what is shared is handed out once') if !failures(@values);
    my $client = $daemon->client;
    my $after = $client->fields('INFO', 'clients', 'stats', 'rules');
    is($after->{total_commands_processed} - $before->{total_commands_processed} - 1, sum(map { $_->[0] } @values),
       'and every command is counted') if !failures(@values);
    for my $number (1 .. $workers) {
        my $all = 3 * $rounds;
        like($after->{"rule_s$number/r$number"}, qr/^allowed=$all,denied=0,/, "rule $number counted all");
    }
    unlike($daemon->log, qr/Sanitizer/, 'and no two threads met where they should not');
};

# Nothing else at that time, which would keep the threads in step.
subtest 'one kind of command at the same time' => sub {
    my @kinds = (
        ['CHECK', 'kind'], ['CHECK', 'kind', 'SERVICE', 's1'], ['CHECK', 'kind', 'SERVICE', 'w'], ['PEEK', 'kind'],
        ['REFUND', 'shared', 'RULE', 'wide'], ['RESERVE', 'kind', 'TTL', 50, 'RULE', 'wide'], ['RESET', 'kind'],
        ['THROTTLE', 'kind', 5, 10, 60], ['CL.THROTTLE', 'kind', 5, 10, 60, -1], ['HEALTH', 's1', '0.5'], ['INFO'],
        ['NODES'], ['EXPLAIN', 'kind'], ['RULE', 'LIST'], ['RULE', 'SET', '{id: k, service: k, rate: 1/s}'],
    );
    my $window = '{id: w, service: w, algorithm: sliding_window, limit: 90, window: 1s}';
    is($daemon->client->command('RULE', 'SET', $window), 'OK', 'a window for one of them');
    for my $kind (@kinds) {
        my @values = values_of(at_once(3, sub {
            my @clients = map { $daemon->client } 1 .. 3;
            for (1 .. 5) {
                $_->send_raw(Headgate::Client::encode(@$kind) x 40) for @clients;
                for my $client (@clients) {
                    die if grep { ref $_ eq 'Headgate::Error' } map { $client->reply } 1 .. 40;
                }
            }
            return 'done';
        }));
        is_deeply([map { @$_ } @values], [('done') x 3], "@$kind");
    }
    unlike($daemon->log, qr/Sanitizer/, 'none met where it should not');
};

subtest 'a rule is in force for every connection' => sub {
    my @clients = map { $daemon->client } 1 .. 30;
    for my $round (1 .. 20) {
        my $setter = $clients[$round];
        my $mode = $round % 2 ? 'enforce' : 'off';
        my $rule = "{id: gate, service: g, rate: 1/h, burst: 1, deny: [foe], mode: $mode}";
        is($setter->command('RULE', 'SET', $rule), 'OK', "round $round") or last;
        my @allowed = map { $_->command('CHECK', 'foe', 'SERVICE', 'g')->[0] } @clients;
        is(sum(@allowed), $round % 2 ? 0 : 30, "everybody is told the same: $mode");
    }
};

subtest 'max_connections is of all threads' => sub {
    my $few = Headgate::cluster(%options, max_connections => 8)->start;
    my $lone = $few->daemon('here');
    Headgate::wait_until(5, sub { $lone->client->fields('INFO', 'clients')->{connected_clients} == 1 });
    my (@clients, $refused);
    for (1 .. 40) {
        my $client = $lone->client;
        my $reply = eval { $client->command('PING') } // 'closed';
        $reply eq 'PONG' ? push @clients, $client : $refused++;
    }
    is(@clients, 8, 'so many are served');
    is($refused, 32, 'the others are refused');
    is(Headgate::cluster(%options, listen => {%{$lone->{settings}{listen}}})->daemon('here')->spawn->wait_end(10), 69,
       'another daemon on the same port is refused');
    ok($few->stop, 'it ends in peace');
};

subtest 'the config is read again in the midst of it' => sub {
    my @users = map { {name => "u$_", roles => 'check, read, admin', secret => "s$_"} } 1 .. 3;
    my $served = Headgate::cluster(%options, users => \@users, log_level => 'warning', listen_http => 1,
                                   listen_grpc => 1)->daemon('here')->spawn;
    ok(Headgate::wait_until(10, sub { eval { $served->client->command('AUTH', 'u1', 's1') eq 'OK' } }), 'it serves');
    my $end = time + 1.5;
    my @children = at_once(3, sub {
        my ($number) = @_;
        my ($reloads, @bad) = 0;
        while (time < $end) {
            my $client = $served->client;
            my @said = $client->pipeline(['AUTH', "u$number", "s$number"], (['CAN_ACCESS', 'r']) x 20, ['RELOAD'],
                                         ['CHECK', 'r'], ['INFO', 'clients']);
            push @bad, "$said[0]" if "$said[0]" ne 'OK';
            push @bad, grep { !/^[01]$/ } map { "$_" } @said[1 .. 20];
            my $http = Http::connect($served);
            for (1 .. 10) {
                my $answer = $http->get('/check', "X-$number: a", "Authorization: Bearer u$number:s$number");
                push @bad, "HTTP $answer->{status} $answer->{body}" if $answer->{status} !~ /^(?:200|400|429)$/;
            }
            ref $said[21] eq 'ARRAY' ? $reloads++ : push @bad, "$said[21]";
        }
        return ("reloads $reloads", @bad);
    });
    for my $round (1 .. 30) {
        $served->{settings}{log_level} = $round % 2 ? 'error' : 'warning';
        $served->{settings}{clients} = {idle_timeout => 10 + $round . 's'};
        $served->{settings}{max_connections} = 100 + $round;
        $served->{settings}{http} = {request_headers => '"user=X-' . ($round % 3 + 1) . '"',
                                     limit_headers => $round % 2 ? 'draft-10' : 'x-ratelimit'};
        $served->{settings}{grpc} = {memory => 8 + $round . 'MiB', limit_headers => $round % 2 ? 'none' : 'draft-10'};
        $served->{settings}{users}[3] = {name => "v$round", roles => 'read', secret => 'v'};
        $served->write_config;
        $served->signal('HUP');
        last if time > $end;
    }
    my @all = map { @$_ } values_of(@children);
    is(scalar(grep { /^reloads [1-9]/ } @all), 3, 'each thread of clients has it read the config');
    is_deeply([grep { !/^reloads|^ERR .*yaml/ } @all], [], 'and none is told a wrong thing');
    is($served->stop, 0, 'it ends in peace');
    unlike($served->log, qr/Sanitizer/, 'and was sound');
};

# Everybody asks until the connection ends; what all got of one key.
sub ask_until_end {
    my ($key) = @_;
    return at_once(4, sub {
        my @clients = eval { map { $daemon->client } 1 .. 4 };
        my $number = 0;
        while (@clients && eval {
            my $rule = '{id: e, service: e, rate: 1/s, burst: ' . ++$number . '}';
            $_->pipeline((['CAN_ACCESS', $key]) x 10, ['RULE', 'SET', $rule], ['INFO']) for @clients;
            1;
        }) {}
        return 'ended';
    });
}

subtest 'kill -9 in the midst of it' => sub {
    my @children = ask_until_end('killed');
    ok(Headgate::wait_until(10, sub { $daemon->client->fields('INFO', 'rules')->{rules} >= 1 &&
                                      $daemon->client->command('PEEK', 'killed')->[2] < 1000 }), 'it is busy');
    unlike($daemon->log, qr/Sanitizer/, 'and sound');
    is($daemon->kill9, 137, 'it is gone');
    is_deeply([map { @$_ } values_of(@children)], [('ended') x 4], 'so are its clients');
    $daemon->start;
    ok($cluster->wait_met, 'it comes back');
    is($daemon->client->command('CAN_ACCESS', 'again'), 1, 'and decides');
};

subtest 'SIGTERM in the midst of it' => sub {
    my @children = ask_until_end('ended');
    ok(Headgate::wait_until(10, sub { $daemon->client->command('PEEK', 'ended')->[2] < 1000 }), 'it is busy');
    is($daemon->stop(10), 0, 'it ends with status 0');
    is_deeply([map { @$_ } values_of(@children)], [('ended') x 4], 'its clients are told by the end');
    like($daemon->log, qr/SIGTERM: leaving the cluster\n.*here has left\n\z/s, 'and so is the log');
};

subtest 'three regions' => sub {
    my $three = Headgate::cluster(threads => 3, limits => [{name => 'default', capacity => 100, rate => '100/s',
                                                             overshoot => 20, default => 'true'}])->start;
    $three->wait_met or die 'no cluster';
    my $to = join ',', map { "127.0.0.1:$_->{ports}{clients}" } $three->daemons;
    my ($status, $out, $err) = Headgate::run(60, Headgate::headgate(), 'load', '--to', $to, '--rate', '3000',
                                             '--seconds', '3', '--expect-bound');
    is($status, 0, 'the bound holds') or diag("$out$err");
    ok($three->stop, 'all end in peace');
};

subtest 'descriptors for peers' => sub {
    my $many = Headgate::cluster(regions => ['here'], threads => 32, state_dir => 'none', listen_http => 1,
                                 listen_grpc => 1)->daemon('here');
    my $log = Headgate::write_file($many->{log_path}, '');
    $many->{pid} = Headgate::spawn($log, $log, 'prlimit', '--nofile=1500:1500', Headgate::headgated(), '--config',
                                   $many->{config});
    ok(Headgate::wait_until(20, sub { $many->log =~ / info here is active/ }), 'a daemon of many threads');
    my ($clients) = $many->log =~ /only 1500 file descriptors are allowed .*: going on with (\d+) connections/;
    my $open = () = glob "/proc/$many->{pid}/fd/*";
    cmp_ok(1500 - $open - $clients, '>=', 600, 'there are descriptors for peers beside those of all clients');
    is($many->stop, 0, 'it leaves');
};

done_testing();
