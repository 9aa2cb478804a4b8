#!/usr/bin/perl
# docs/notebook/mechanisms.md: each file that a row names exists, and the lines of a row are those of its files, within
# 15%. "~30" is a part of a file, and no more than all of it. A source counts with its header.
use strict;
use warnings;
use FindBin;
use Test::More;

my $root = "$FindBin::Bin/../..";

sub lines_of {
    my ($path) = @_;
    open my $file, '<', $path or return 0;
    return scalar(() = <$file>);
}

# The files that a name means: in cluster/ or src/, or, without a folder, beside the file before it.
sub files_of {
    my ($name, $beside) = @_;
    for my $folder ($name =~ m{/} || !$beside ? ("$root/cluster", "$root/src") : $beside) {
        my @files = grep { /\.[ch]$/ && -e } glob("$folder/$name");
        push @files, grep { -e } map { s/\.c$/.h/r } @files;
        my %once = map { $_ => 1 } @files;
        return keys %once if @files;
    }
    return;
}

# What is wrong with such a page; empty: nothing.
sub faults {
    my ($page) = @_;
    my @faults;
    for my $row ($page =~ /^\| (.*) \|$/mg) {
        my ($what, $code, $told) = split / \| /, $row;
        next if !defined $told || $code !~ /`/;
        my ($part, $count) = $told =~ /^(~?)([\d,]+)$/ or next;
        my ($sum, $beside) = 0;
        $count =~ s/,//g;
        for my $name ($code =~ /`([^`]+)`/g) {
            my @files = files_of($name, $beside);
            push @faults, "'$what' names $name, which is not there" if !@files;
            $sum += lines_of($_) for @files;
            ($beside) = $files[0] =~ m{^(.*)/} if @files;
        }
        push @faults, "'$what' has $sum lines, not $told"
            if $part ? $count > $sum : abs($count - $sum) > 0.15 * $sum;
    }
    return @faults;
}

my $page = do { local (@ARGV, $/) = "$root/docs/notebook/mechanisms.md"; <> };
my @rows = $page =~ /^\| .* \| `.* \| ~?[\d,]+ \|/mg;
cmp_ok(scalar @rows, '>', 40, 'the ledger has rows with files and lines');
is(join("\n", faults($page)), '', 'and both are those of the tree');
my $lines = lines_of("$root/cluster/publish.c") + lines_of("$root/cluster/publish.h");
is(scalar faults("| x | `publish.c` | $lines | none | none |\n"), 0, 'a planted row is read,');
is(scalar faults("| x | `publish.c` | 2000 | none | none |\n"), 1, 'a wrong count of lines is found,');
is(scalar faults("| x | `publish.c` | ~2000 | none | none |\n"), 1, 'also of a part,');
is(scalar faults("| x | `publish_all.c` | 10 | none | none |\n"), 2, 'and a file that is not there');
done_testing;
