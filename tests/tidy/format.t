#!/usr/bin/perl
# How far the sources are from what clang-format would make of them. It reports; it does not fail.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Source;
use Test::More;

chdir $Source::root or die;
plan skip_all => 'there is no clang-format here' if system('command -v clang-format >/dev/null') != 0;
my @away;
my @sources = grep { m{\.[ch]$} } Source::paths();
for my $path (@sources) {
    my $lines = grep { /^</ } qx(clang-format '$path' | diff '$path' -);
    push @away, "$path: $lines lines" if $lines;
}
note(join "\n", @away) if @away;
pass(@sources - @away . ' of ' . @sources . ' files are laid out as .clang-format says');
done_testing();
