# What the examples of rules say of themselves: each file in config/rules/ holds, as comments, requests and what is
# answered: "> CHECK user=alice COST 20" and below it "1 20 0 0 * per-user", where * stands for anything.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Test::More;
use Time::HiRes qw(time);

my @files = glob "$Headgate::root/config/rules/*.yaml";
cmp_ok(scalar @files, '>=', 20, 'there are examples');

# Words of a line; one in quotes may have blanks.
sub words {
    my ($line) = @_;
    return map { s/^"(.*)"$/$1/r } $line =~ /"[^"]*"|\S+/g;
}

# [request, expected words] of a file.
sub claims {
    my ($text) = @_;
    my (@claims, $request);
    for (split /\n/, $text) {
        $request = [words($1)] if /^# > (.+)/;
        push @claims, [$request, [words($1)]] and undef $request if $request && !/^# >/ && /^# (.+)/;
    }
    return @claims;
}

sub answer {
    my ($client, $request) = @_;
    my $reply = $client->command(@$request);
    return map { defined $_ && length $_ ? $_ : () } ref $reply eq 'ARRAY' ? @$reply : $reply;
}

sub fits {
    my ($got, $expected) = @_;
    return 0 if @$expected == 1 && $expected->[0] eq '*' ? !@$got : @$got != @$expected;
    for my $i (0 .. $#$expected) {
        return 0 if $expected->[$i] ne '*' && $expected->[$i] ne $got->[$i];
    }
    return 1;
}

# What a daemon of its own says to all the claims of a file, and how long that took; undef: it does not apply it.
sub answers {
    my ($file, @claims) = @_;
    my $cluster = Headgate::cluster(
        regions => ['here'],
        limits => [{name => 'default', capacity => 7, rate => '1/h', default => 'true'}],
        central => {address => '127.0.0.1:1'} # nobody is there: when_down counts
    );
    $cluster->start;
    $cluster->wait_met or die 'the daemon did not become active';
    my $here = $cluster->daemon('here');
    my @command = (Headgate::headgate(), '--at', "127.0.0.1:$here->{ports}{clients}", 'rules', 'apply', $file);
    my ($status, $out, $err) = Headgate::run(20, @command);
    diag($err) if $status != 0;
    my ($client, $begin) = ($here->client, time);
    my @got = map { [answer($client, $_->[0])] } @claims;
    my $took = time - $begin;
    $here->stop;
    return $status == 0 ? (\@got, $took) : ();
}

# Some limits refill a token in 60 ms: where answers took longer, they are asked for again.
my $alone = 'What a daemon that is alone answers; of several, each one has its part of what remains:';
for my $file (@files) {
    my ($name) = $file =~ m{([^/]+)\.yaml$};
    like(Headgate::read_file($file), qr/^# \Q$alone\E\n# > /m, "$name says of whom it speaks");
    my @claims = claims(Headgate::read_file($file));
    subtest $name => sub {
        my ($got, $took);
        Headgate::wait_until(60, sub {
            ($got, $took) = answers($file, @claims);
            return !$got || $took < 0.05 || !grep { !fits($got->[$_], $claims[$_][1]) } 0 .. $#claims;
        });
        ok($got, 'it is applied');
        cmp_ok(scalar @claims, '>=', 1, 'it says what it does');
        for my $i (0 .. $#claims) {
            my ($request, $expected) = @{$claims[$i]};
            ok(fits($got->[$i], $expected), "@$request") or diag("got @{$got->[$i]}\nexpected @$expected; $took s");
        }
    };
}
done_testing();
