#!/usr/bin/perl
# clang-tidy over every source of the product, one test a file, two at a time. .clang-tidy says what is asked. Each file
# has a process of its own: checkers of the analyzer keep names of functions from the first file that they see, and do
# not know them again in the next one.
# The analyzer takes most of the time. It gives a function up after so many states: `make tidy` lets it go as far as
# it does by itself, and every other run a small part of that.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Source;
use File::Temp qw(tempdir);
use Test::More;

my $states_max = $ENV{HEADGATE_TIDY_STATES} // 10_000;
my @flags = (qw(-std=c11 -D_GNU_SOURCE -Iinclude -Isrc -I. -isystem /usr/share/include/llhttp -DLLHTTP_STRICT_MODE=1
        -isystem build/release/obj/proto),
    qw(-Xclang -analyzer-config -Xclang), "max-nodes=$states_max");
my $scratch = tempdir(CLEANUP => 1);
chdir $Source::root or die;
plan skip_all => 'there is no clang-tidy here' if system('command -v clang-tidy >/dev/null') != 0;

# What it must find before its silence means anything.
open my $plant, '>', "$scratch/plant.c" or die;
print $plant "int planted(int count);\nint planted(int count)\n{\n    int a;\n    return a / (count - count);\n}\n";
close $plant;

my @sources = ("$scratch/plant.c", grep { m{^(?:src|cluster)/.*\.c$} } Source::paths());
my %running;
sub reap { delete $running{waitpid -1, 0} }
for my $i (0 .. $#sources) {
    reap() while keys %running >= 2;
    my $pid = fork // die "fork: $!";
    if ($pid == 0) {
        open STDOUT, '>', "$scratch/$i.out" and open STDERR, '>', '/dev/null';
        exec 'nice', '-n', '19', 'clang-tidy', '--quiet', $sources[$i], '--', @flags or exit 127;
    }
    $running{$pid} = 1;
}
reap() while keys %running;

for my $i (0 .. $#sources) {
    open my $in, '<', "$scratch/$i.out" or die;
    my @said = map { s{^\Q$Source::root/\E}{}r } <$in>;
    if ($i == 0) {
        ok(scalar(grep { /clang-analyzer/ } @said), 'what is planted is found');
    } else {
        my @faults = map { $said[$_] =~ /: (?:error|warning): / ? @said[$_, $_ + 1] : () } 0 .. $#said;
        ok(!@said, $sources[$i]) or diag(grep { defined } @faults);
    }
}
done_testing();
