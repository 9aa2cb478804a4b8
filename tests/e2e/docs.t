#!/usr/bin/perl
# Every example of README.md and docs/*.md is run as its reader would run it after `make up`, and answers as printed.
# Documents.pm says what an example is, and what may differ. Ports are others than in the documents, so that
# several tests can run; the README's commands find nothing that `make up` does not bring.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Documents;
use File::Path qw(make_path);
use Headgate;
use Test::More;
use Time::HiRes qw(time);

# Blocks of each document that are not run. A further one is to be run, or to be counted here.
my %not_run = (
    'README.md' => 3,
    'docs/accounting.md' => 7,
    'docs/architecture.md' => 2,
    'docs/central.md' => 1,
    'docs/clients.md' => 4,
    'docs/envoy.md' => 2,
    'docs/http.md' => 2,
    'docs/kubernetes.md' => 1,
    'docs/operations.md' => 10,
    'docs/performance.md' => 2,
    'docs/protocol.md' => 11,
    'docs/rules.md' => 1,
    'docs/security.md' => 1,
    'docs/upgrades.md' => 2,
);

my $place = Headgate::scratch() . '/tree';
my @regions = qw(us-east eu-west ap-south);
my %port = map { $_ => (Headgate::free_ports(1))[0] } map { my $base = $_; map { $base + $_ } 0 .. 4 } 7070, 7170, 7270;
my %printed = reverse %port;
my $demonstration = Headgate::read_file("$Headgate::root/config/demonstrate.sh");

sub to_place { return $_[0] =~ s/\b(7[012]7[0-4])\b/$port{$1}/gr }
sub to_print { return $_[0] =~ s/\b(\d{5})\b/$printed{$1} \/\/ $1/ger }

sub executable { chmod 0755, Headgate::write_file(@_) or die $! }

# What a clone has after `make up`, but for the sources: configs, documents, binaries. `make` there builds nothing.
sub lay_out {
    make_path("$place/config", "$place/build", "$place/bin", "$place/installed");
    symlink "$Headgate::root/$_", "$place/$_" or die $! for qw(docs include README.md);
    symlink $Headgate::build, "$place/build/release" or die $!;
    symlink "$Headgate::build/$_", "$place/installed/$_" or die $! for qw(headgate headgated);
    symlink "$Headgate::root/config/rules", "$place/config/rules" or die $!;
    for my $region (@regions) {
        Headgate::write_file("$place/config/$region.yaml",
                             to_place(Headgate::read_file("$Headgate::root/config/$region.yaml")));
    }
    executable("$place/config/local-cluster.sh", Headgate::read_file("$Headgate::root/config/local-cluster.sh"));
    executable("$place/bin/make", "#!/bin/sh\nexec config/local-cluster.sh \"\$@\"\n");
}

# The answer to a command, as a terminal would show it.
sub answer {
    my ($path, $command) = @_;
    local @ENV{qw(PATH FAKETTY LC_ALL HEADGATE_AT)} = ($path, 1, 'C', "127.0.0.1:$port{7070}");
    delete local @ENV{qw(HEADGATE_BUILD HEADGATE_PASSWORD)};
    my $script = "cd '$place' && exec 2>&1\n" . to_place($command);
    my ($status, $out) = Headgate::run(120, '/bin/bash', '-c', $script);
    return [split /\n/, to_print($out)];
}

# "$ cat FILE": of a file of the tree, what it holds; else the file is made.
sub cat {
    my ($step) = @_;
    my ($name) = $step->{command} =~ /^cat ([\w.\/-]+)$/ or return 0;
    return 0 if -e "$place/$name";
    Headgate::write_file("$place/$name", to_place(join '', map { "$_\n" } @{$step->{answer}}));
    pass("line $step->{line}: $name is made");
    return 1;
}

sub run_session {
    my ($path, $block) = @_;
    my @kinds = Documents::kinds_of($block);
    my ($seconds) = map { /^within (\d+) s$/ ? $1 : () } @{$block->{comments}};
    my $begun = time;
    for my $step (Documents::steps($block)) {
        next if cat($step);
        my ($got, $good);
        my $looks = $step->{command} =~ /\bheadgate (?:nodes|rules list)\b/;
        Headgate::wait_until($looks ? $seconds // 0 : 0, sub {
            $got = answer($path, $step->{command});
            return $good = Documents::same($step->{answer}, $got, 1000 * (time - $begun), @kinds);
        });
        ok($good, "line $step->{line}: $step->{command}")
            or diag("printed:\n", map({ "    $_\n" } @{$step->{answer}}), "got:\n", map { "    $_\n" } @$got);
    }
}

sub cluster { return Headgate::run(60, "$place/config/local-cluster.sh", @_) }
sub running { return grep { (readlink("/proc/$_/cwd") // '') eq $place } map { m{(\d+)$} } glob '/proc/[0-9]*' }
END { my $status = $?; cluster('down') if -d $place; $? = $status }

# A document has three regions of its own. The README begins without, and has what `make up` brings; others have the
# command installed.
sub run_document {
    my ($name, @blocks) = @_;
    my $is_readme = $name eq 'README.md';
    my $path = "$place/bin:" . ($is_readme ? '' : "$place/installed:") . '/usr/bin:/bin';
    executable("$place/config/demonstrate.sh", $is_readme ? $demonstration : "#!/bin/sh\n");
    if (!$is_readme) {
        my ($status, $out, $err) = cluster('up');
        is($status, 0, 'three regions are up') or diag($out, $err);
    }
    run_session($path, $_) for @blocks;
    cluster('down') if !$is_readme;
    is_deeply([running()], [], 'nothing is left running');
    system 'rm', '-rf', "$place/run";
}

# What the README types is there after `make up`: of this tree, of every Debian, or of a package that it installs.
my %package_of = (
    'redis-cli' => 'redis-tools', curl => 'curl', nc => 'netcat-openbsd', python3 => 'python3-redis', cc => 'gcc',
    make => 'make',
);
my %in_every_debian = map { $_ => 1 } qw(cat cut kill printf);

sub test_programs {
    my (@sessions) = @_;
    my ($sections) = Headgate::read_file("$Headgate::root/Makefile") =~ /^up:\n\t\@\.ci\/deps (.*)$/m;
    my ($section, %brought) = ('');
    for (split /\n/, Headgate::read_file("$Headgate::root/.ci/packages")) {
        $section = $1 if /^# (\S+)$/;
        $brought{$_} = 1 if " $sections " =~ / \Q$section\E /;
    }
    my @commands = map { $_->{command} } map { Documents::steps($_) } @sessions;
    my %typed = map { $_ => 1 } map { /(?:^|\||;|&&|\$\()\s*([a-z][\w.\/-]*)/g } @commands;
    my @foreign = grep { !m{^build/} && !$in_every_debian{$_} } sort keys %typed;
    my @lacking = grep { !$brought{$package_of{$_} // ''} } @foreign;
    cmp_ok(scalar keys %typed, '>=', 8, 'the README types some programs');
    is_deeply(\@lacking, [], 'make up brings each of them');
}

# What may differ hides nothing else: each of these is found before the documents are believed.
sub test_plants {
    my @reply = ('1) (integer) 1', '3) (integer) 8      # remaining', '5) (integer) 1800   # ms until full');
    my $row = '  300 requests, once                32        31        31      94         100     120  holds';
    my $node = 'eu-west    eu-west   active  33.00%   61 ms ago     2.25 ms    0    0  same';
    my $bound = 'bound        2099.5 = capacity + rate * elapsed + declared; kept';
    for (
        ['another figure', \@reply, [$reply[0], '3) (integer) 7', '5) (integer) 1800'], 'elapsed'],
        ['a longer wait', \@reply, [$reply[0], '3) (integer) 8', '5) (integer) 1801'], 'elapsed'],
        ['a much shorter wait', \@reply, [$reply[0], '3) (integer) 8', '5) (integer) 1500'], 'elapsed'],
        ['a line less', \@reply, [@reply[0, 1]], 'elapsed'],
        ['a limit that does not hold', [$row], [$row =~ s/holds/DOES NOT HOLD/r], 'load'],
        ['more than the bound', [$row], [$row =~ s/32( +31 +31 +)94/62${1}124/r], 'load'],
        ['a sum that is none', [$row], [$row =~ s/94/97/r], 'load'],
        ['a peer that is silent', [$node], [$node =~ s/active/silent/r], 'links'],
        ['another share', [$node], [$node =~ s/33.00%/34.00%/r], 'links'],
        ['another pid and more', ['us-east, pid 1'], ['eu-west, pid 2'], 'pid'],
        ['a bound that is not kept', [$bound], [$bound =~ s/kept/BROKEN/r], 'report'],
        ['an overshoot', ['overshoot    0.00 tokens'], ['overshoot    2.00 tokens'], 'report'],
    ) {
        my ($name, $printed, $got, @kinds) = @$_;
        ok(!Documents::same($printed, $got, 100, @kinds), "$name is found");
        ok(Documents::same($printed, [map { s/\s+#.*//r } @$printed], 100, @kinds), '... and what is printed is not');
    }
    my ($other) = Documents::blocks("a\n\n    \$ b\n\n    c\n\n<!-- not run: x -->\n\n    d\n");
    is_deeply($other->{lines}, ['$ b', '', 'c'], 'a block goes on after an empty line');
}

# Links within the tree lead somewhere.
sub test_links {
    my ($name) = @_;
    my ($text) = Headgate::read_file("$Headgate::root/$name") =~ s/`[^`]*`//gr;
    my $place = $name =~ s{[^/]*$}{}r;
    my @dead = grep { !m{^https?://} && !-e "$Headgate::root/$place$_" } $text =~ /\]\(([^)#\s]+)/g;
    is_deeply(\@dead, [], "$name: links lead somewhere");
}

test_plants();
lay_out();
test_links($_) for qw(CHANGELOG.md CONTRIBUTING.md SECURITY.md);
for my $file ("$Headgate::root/README.md", glob "$Headgate::root/docs/*.md") {
    my ($name) = $file =~ m{^\Q$Headgate::root\E/(.*)};
    my ($skipped, @sessions, @unknown) = (0);
    for my $block (Documents::blocks(Headgate::read_file($file))) {
        my ($reason) = map { /^not run: (.*)/ ? $1 : () } @{$block->{comments}};
        if (defined $reason) {
            $skipped++;
            push @unknown, "$block->{line}: not run: $reason" if !$Documents::REASONS{$reason};
        } elsif (($block->{fence} // '') ne 'yaml') {
            push @{$block->{lines}[0] =~ /^\$ / ? \@sessions : \@unknown}, $block;
        }
    }
    is_deeply([map { ref $_ ? "$name:$_->{line}: $_->{lines}[0]" : "$name:$_" } @unknown], [],
              "$name: every block is run, or says why not");
    is($skipped, $not_run{$name} // 0, "$name: so many blocks are not run");
    test_links($name);
    test_programs(@sessions) if $name eq 'README.md';
    subtest $name => sub { run_document($name, @sessions) } if @sessions;
}
done_testing();
