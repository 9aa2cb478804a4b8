#!/usr/bin/perl
# What other programs get: make install into an empty root, then C and C++ programs built against it by
# pkg-config, with the shared library and the static one.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use Test::More;

my $source = abs_path(dirname(__FILE__) . '/../..');
my $root = tempdir('headgate-install-XXXXXX', TMPDIR => 1, CLEANUP => 1);
my $installed = "$root/opt/headgate";
delete @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL CFLAGS LDFLAGS)};
$ENV{PKG_CONFIG_PATH} = "$installed/lib/pkgconfig";
$ENV{PKG_CONFIG_SYSROOT_DIR} = $root;

# Runs a command; its output with errors, and whether it succeeded.
sub run {
    my ($command) = @_;
    my $output = `exec 2>&1; $command`;
    diag("$command:\n$output") if $? != 0;
    return ($output, $? == 0);
}

sub write_file {
    my ($name, $text) = @_;
    open my $file, '>', "$root/$name" or die "$root/$name: $!";
    print $file $text;
    close $file or die "$root/$name: $!";
    return "$root/$name";
}

my ($said, $done) = run("make -C $source -s FLAVOUR=release install DESTDIR=$root PREFIX=/opt/headgate");
ok($done, 'make install') or BAIL_OUT('nothing is installed');
ok(-f "$installed/$_", "$_ is installed")
    for qw(include/headgate/limiter.h include/headgate/client.h include/headgate/daemons.h
           lib/libheadgate.a lib/libheadgate.so.0
           lib/libheadgate.so lib/pkgconfig/headgate.pc);
ok(-x "$installed/bin/$_", "$_ is installed") for qw(headgated headgate);

my ($flags, $found) = run('pkg-config --cflags headgate');
my ($shared) = run('pkg-config --libs headgate');
my ($static) = run('pkg-config --static --libs headgate');
ok($found, 'pkg-config knows it');
chomp($flags, $shared, $static);
$static =~ s/-lheadgate/-l:libheadgate.a/;

# What the headers declare is what is exported, and nothing else.
my %declared;
for my $header (glob "$installed/include/headgate/*.h") {
    open my $file, '<', $header or die "$header: $!";
    my $text = do { local $/; <$file> };
    $text =~ s{/\*.*?\*/}{}gs;
    $declared{$1}++ while $text =~ /\b(headgate_\w+)\s*\(/g;
}
my $declared = join ' ', sort keys %declared;
for my $library (["the shared library", "nm -D --defined-only $installed/lib/libheadgate.so.0"],
                 ["the static library", "nm -g --defined-only $installed/lib/libheadgate.a"]) {
    my ($what, $command) = @$library;
    my ($symbols) = run($command);
    my $exported = join ' ', sort $symbols =~ /^[0-9a-f]+ [A-Z] (\S+)$/mg;
    is($exported, $declared, "$what exports what the headers declare, and nothing else");
}
like((run("readelf -d $installed/lib/libheadgate.so.0"))[0], qr/SONAME.*\[libheadgate\.so\.0\]/, 'it has its soname');

my $expected = <<'END';
alice: 5 of 10 allowed
bob: 5 of 10 allowed
alice: come back in 200 ms
alice: allowed then
acme: allowed, 600 of 1000 left
12 allowed, 11 refused, 3 keys
END

# A C++ program with words of its own that our rooms use as well, and all headers.
my $cxx = write_file('user.cc', <<'END');
#include <headgate/daemons.h>
#include <iostream>
#include <string>

extern "C" int table_create() { return 7; }
extern "C" int error_set() { return 8; }

int main()
{
    headgate_limit limit = {"default", 3, 1, 1000000000};
    headgate_options options = {};
    options.limits = &limit;
    options.limit_count = 1;
    std::string error(200, '\0');
    headgate_limiter *limiter = headgate_limiter_create(&options, &error[0], error.size());
    if (!limiter)
        return 1;
    int allowed = 0;
    for (int i = 0; i < 9; i++)
        allowed += headgate_can_access(limiter, "alice", 1000);
    headgate_request request = {};
    request.value = "alice";
    request.value_size = 5;
    headgate_verdict verdict;
    headgate_check(limiter, &request, 1000, &verdict);
    std::cout << allowed << " " << verdict.retry_after_ns << " " << table_create() + error_set() << "\n";
    headgate_request three[3] = {request, request, request};
    three[0].value = three[1].value = "bobby";
    three[1].cost = 3;
    bool each[3];
    std::cout << headgate_check_many(limiter, three, 3, 1000, each) << each[0] << each[1] << each[2] << "\n";
    headgate_limiter_destroy(&limiter);
    options.default_limit = "no such";
    if (!headgate_limiter_create(&options, &error[0], error.size()))
        std::cout << error.c_str() << "\n";
}
END
my $cxx_expected = "3 1000000000 15\n1100\ndefault_limit is \"no such\": expected the name of one of the limits\n";

my $strict = '-O1 -Wall -Wextra -Wpedantic -Werror';
for my $kind (['shared', $shared], ['static', $static]) {
    my ($what, $libs) = @$kind;
    local $ENV{LD_LIBRARY_PATH} = $what eq 'shared' ? "$installed/lib" : '';
    my $example = "$source/docs/examples/limiter.c";
    for my $program (['C', "gcc -std=c11 $strict -D_POSIX_C_SOURCE=200809L", $example, $expected],
                     ['C++', "g++ -std=c++11 $strict", $cxx, $cxx_expected]) {
        my ($language, $compiler, $file, $wanted) = @$program;
        my $binary = "$root/$language-$what";
        my (undef, $built) = run("$compiler $flags $file $libs -o $binary");
        ok($built, "a $language program builds, $what");
        is((run($binary))[0], $wanted, '... and runs');
        my ($needed) = run("readelf -d $binary");
        is(scalar($needed =~ /libheadgate/), $what eq 'shared' ? 1 : '', "... and is $what");
    }
}

my $both = "#include <headgate/limiter.h>\n#include <headgate/daemons.h>\n";
my $c99 = write_file('headers.c', "${both}int main(void) { return 0; }\n");
ok((run("gcc -std=c99 $strict $flags -fsyntax-only $c99"))[1], 'the headers are C99');
# ---- what was installed is removed, and nothing else ----

write_file('opt/headgate/lib/other.txt', 'of somebody else');
($said, $done) = run("make -C $source -s uninstall DESTDIR=$root PREFIX=/opt/headgate");
ok($done, 'make uninstall');
my ($left) = run("cd $installed && find . -type f -o -type l -o -name headgate");
is($left, "./lib/other.txt\n", 'all of it is gone, and nothing else');
($said, $done) = run("make -C $source -s uninstall DESTDIR=$root PREFIX=/opt/headgate");
ok($done, 'once more does no harm');

# ---- a narrow umask, a path with a space, and one that is none ----

my $make = "make -C $source -s FLAVOUR=release";
($said, $done) = run("umask 077; $make install DESTDIR='$root/a place' PREFIX=/usr");
ok($done, 'make install under a narrow umask, to a path with a space');
my ($narrow) = run("find '$root/a place' ! -type l ! -perm -a+r");
is($narrow, '', 'everybody can read all of it');
my ($files) = run("find '$root/a place' -type f -o -type l");
is(scalar(() = $files =~ /\n/g), 9, 'all of it is there') or diag($files);
ok((run("$make uninstall DESTDIR='$root/a place' PREFIX=/usr"))[1], 'make uninstall');
($files) = run("find '$root/a place' -type f -o -type l");
is($files, '', 'and none of it is there');
for my $goal (qw(install uninstall)) {
    $said = `exec 2>&1; $make $goal DESTDIR=$root PREFIX=usr`;
    like($said, qr{^PREFIX or LIBDIR is 'usr': expected a path that begins with /$}m, "$goal: a path begins with /");
}

done_testing();
