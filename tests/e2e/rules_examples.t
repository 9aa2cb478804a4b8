# What the examples of rules say of themselves: each file in config/rules/ holds, as comments, requests and what is
# answered: "> CHECK user=alice COST 20" and below it "1 20 0 0 * per-user", where * stands for anything.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Test::More;

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

for my $file (@files) {
    my ($name) = $file =~ m{([^/]+)\.yaml$};
    my @claims = claims(Headgate::read_file($file));
    subtest $name => sub {
        my $cluster = Headgate::cluster(
            regions => ['here'],
            limits => [{name => 'default', capacity => 7, rate => '1/h', default => 'true'}]
        );
        $cluster->start;
        $cluster->wait_met or die 'the daemon did not become active';
        my $here = $cluster->daemon('here');
        my @command = (Headgate::headgate(), '--at', "127.0.0.1:$here->{ports}{clients}", 'rules', 'apply', $file);
        my ($status, $out, $err) = Headgate::run(20, @command);
        is($status, 0, 'it is applied') or diag($err);
        my $client = $here->client;
        cmp_ok(scalar @claims, '>=', 1, 'it says what it does');
        for my $claim (@claims) {
            my ($request, $expected) = @$claim;
            my @got = answer($client, $request);
            ok(fits(\@got, $expected), "@$request") or diag("got @got\nexpected @$expected");
        }
        $here->stop;
    };
}
done_testing();
