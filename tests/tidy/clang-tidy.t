#!/usr/bin/perl
# clang-tidy over every source of the product, one test a file, two at a time. .clang-tidy says what is asked. Each file
# has a process of its own: checkers of the analyzer keep names of functions from the first file that they see, and do
# not know them again in the next one. Clang's own warnings, those that `make FLAVOUR=clang` asks for, come with it.
# The analyzer takes most of the time. It gives a function up after so many states: `make tidy` lets it go as far as
# it does by itself, and every other run a small part of that. A file of which nothing was said is not looked at again
# while all is as it was: its text and that of its headers, what is asked, clang-tidy, and the packages of this machine.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Source;
use Digest::SHA qw(sha256_hex);
use File::Basename qw(dirname);
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use Test::More;

my $states_max = $ENV{HEADGATE_TIDY_STATES} // 10_000;
my $generated = 'build/release/obj/proto';
my $scratch = tempdir(CLEANUP => 1);
chdir $Source::root or die;
plan skip_all => 'there is no clang-tidy here' if system('command -v clang-tidy >/dev/null') != 0;
my @warnings = grep { /^-W/ && $_ ne '-Werror' } split ' ', `make -s --no-print-directory FLAVOUR=clang show-compile`;
my @flags = (qw(-std=c11 -D_GNU_SOURCE -Iinclude -Isrc -I. -isystem /usr/share/include/llhttp -DLLHTTP_STRICT_MODE=1),
    '-isystem', $generated, @warnings, qw(-Xclang -analyzer-config -Xclang), "max-nodes=$states_max");

# What it must find before its silence means anything.
open my $plant, '>', "$scratch/plant.c" or die;
print $plant "int planted(int count);\nint planted(int count)\n{\n    int a;\n    return a / (count - count);\n}\n",
    "long wide(void);\nint narrow(void);\nint narrow(void)\n{\n    return wide();\n}\n";
close $plant;

sub text_of {
    my ($path) = @_;
    open my $in, '<:raw', $path or return '';
    local $/;
    return scalar(<$in>) // '';
}

# A file and all that it includes of ours, or that is generated here.
my (%text, %named);
sub closure {
    my (@left) = @_;
    my %closure;
    while (defined(my $path = shift @left)) {
        next if $closure{$path}++;
        $text{$path} //= text_of($path);
        $named{$path} //= [$text{$path} =~ /^\h*#\h*include\h*["<]([^">]+)[">]/mg];
        push @left, grep { -f } map { (dirname($path) . "/$_", "include/$_", "src/$_", $_, "$generated/$_") }
            @{$named{$path}};
    }
    return sort keys %closure;
}

# All that an answer comes from; nothing where packages have no numbers.
my $packages = `dpkg-query -W 2>/dev/null`;
my $asked = sha256_hex(join "\0", @flags, text_of('.clang-tidy'), `clang-tidy --version`, $packages);
sub key_of {
    my ($source) = @_;
    return $packages eq '' ? undef : sha256_hex($asked, map { ("\0$_\0", $text{$_}) } closure($source));
}
sub kept_at { return "build/tidy/$states_max/$_[0].clean" }

my @sources = ("$scratch/plant.c", grep { m{^(?:src|cluster)/.*\.c$} } Source::paths());
my (%running, @status, @key, @known);
sub reap { my $pid = waitpid -1, 0; $status[delete $running{$pid}] = $? }
for my $i (0 .. $#sources) {
    $key[$i] = $i == 0 ? undef : key_of($sources[$i]);
    next if $known[$i] = defined $key[$i] && text_of(kept_at($sources[$i])) eq $key[$i];
    reap() while keys %running >= 2;
    my $pid = fork // die "fork: $!";
    if ($pid == 0) {
        open STDOUT, '>', "$scratch/$i.out" and open STDERR, '>', '/dev/null';
        exec 'nice', '-n', '19', 'clang-tidy', '--quiet', $sources[$i], '--', @flags or exit 127;
    }
    $running{$pid} = $i;
}
reap() while keys %running;

for my $i (0 .. $#sources) {
    if ($known[$i]) {
        pass($sources[$i]);
        next;
    }
    open my $in, '<', "$scratch/$i.out" or die;
    my @said = map { s{^\Q$Source::root/\E}{}r } <$in>;
    if ($i == 0) {
        for my $planted ('clang-analyzer', 'clang-diagnostic-shorten') {
            ok(scalar(grep { /\[$planted/ } @said), "what is planted is found: $planted");
        }
        next;
    }
    my @faults = map { $said[$_] =~ /: (?:error|warning): / ? @said[$_, $_ + 1] : () } 0 .. $#said;
    my $clean = ok(!@said && $status[$i] == 0, $sources[$i]);
    diag("exit status $status[$i]\n", grep { defined } @faults) if !$clean;
    next if !$clean || !defined $key[$i];
    my $kept = kept_at($sources[$i]);
    make_path(dirname($kept));
    open my $out, '>', $kept or die "$kept: $!";
    print $out $key[$i];
    close $out or die "$kept: $!";
}
note(scalar(grep { $_ } @known), ' files are as they were when nothing was said of them');
done_testing();
