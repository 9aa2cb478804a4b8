#!/usr/bin/perl
# cppcheck over the product's sources and headers. It keeps in build/cppcheck what it said of each file, and looks again
# at files that have changed, or whose headers have.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Source;
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use Test::More;

# constParameter: a link of an intrusive list is const only by accident. knownConditionTrueFalse, legacyUninitvar:
# 2.10 mistakes what a conditional expression can be; the analyzer of clang-tidy looks for both. variableScope: taste.
my @options = qw(--quiet -j2 --std=c11 --inline-suppr
    --suppress=constParameter --suppress=knownConditionTrueFalse --suppress=legacyUninitvar --suppress=variableScope
    --error-exitcode=1 -Iinclude -Isrc -I.);
push @options, '--enable=warning,performance,portability,style';
chdir $Source::root or die;
plan skip_all => 'there is no cppcheck here' if system('command -v cppcheck >/dev/null') != 0;

# It asks for memory more often than it computes: the allocator of redis-server, where that is installed, saves a sixth.
chomp(my $machine = `gcc -print-multiarch 2>/dev/null`);
my $allocator = "/usr/lib/$machine/libjemalloc.so.2";
my @with = ('env', -f $allocator ? "LD_PRELOAD=$allocator" : ());

sub faults {
    my (@paths) = @_;
    open my $pipe, '-|', 'sh', '-c', 'exec "$@" 2>&1', 'sh', 'nice', '-n', '19', @with, 'cppcheck', @options, @paths
        or die;
    my @said = <$pipe>;
    return close $pipe ? () : @said;
}

my $scratch = tempdir(CLEANUP => 1);
open my $plant, '>', "$scratch/plant.c" or die;
print $plant "int planted(void)\n{\n    int a[2] = {0, 1};\n    return a[2];\n}\n";
close $plant;
ok(scalar(grep { /arrayIndexOutOfBounds/ } faults("$scratch/plant.c")), 'what is planted is found');

make_path('build/cppcheck');
my @said = faults('--cppcheck-build-dir=build/cppcheck', grep { m{^(?:src|cluster|include)/.*\.c$} } Source::paths());
ok(!@said, 'src, cluster, include') or diag(@said);
done_testing();
