#!/usr/bin/perl
# tests/sim/canary/run says what it is for, and plants nothing unless it is asked to: no bug is built here.
use strict;
use warnings;
use FindBin;
use Test::More;

my $dir = "$FindBin::Bin/canary";
my $runner = "$dir/run";
my @bugs = map { m{([^/]+)\.patch$} } glob "$dir/*.patch";

# (status, stdout and stderr) of the runner, which is ended when it takes longer than an answer does.
sub runner {
    my $out = `timeout 20 $runner @_ 2>&1 </dev/null`;
    return ($? >> 8, $out);
}

for my $word ('--help', '-h', "$bugs[0] --help") {
    my ($status, $out) = runner($word);
    is($status, 0, "run $word: 0");
    like($out, qr/^Usage: tests\/sim\/canary\/run \[BUG \.\.\.\]\n/, 'its usage, and nothing else');
    is_deeply([$out =~ /^  (\S+)$/mg], \@bugs, 'and every bug by its name');
}
for my $word ('--seeds', 'no-such-bug', "$bugs[0] no-such-bug", '../sim/x', "''") {
    my ($status, $out) = runner($word);
    is($status, 64, "run $word: 64");
    like($out, qr/^tests\/sim\/canary\/run: '.*' is no planted bug: expected .*, see --help\n\z/, 'with one sentence');
}
done_testing();
