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
my @sources = grep { m{\.[ch]$} } Source::paths();
# One process for all of them: to start one takes longer than what it does for ten files.
open my $pipe, '-|', 'sh', '-c', 'exec "$@" 2>&1', 'sh', 'clang-format', '--dry-run', @sources or die;
my %places_of;
while (<$pipe>) { $places_of{$1}++ if /^(.+?):\d+:\d+: warning: / }
ok(close $pipe, 'clang-format reads them all');
note(join "\n", map { "$_: $places_of{$_} places" } sort keys %places_of) if %places_of;
pass(@sources - keys(%places_of) . ' of ' . @sources . ' files are laid out as .clang-format says');
done_testing();
