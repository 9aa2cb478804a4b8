#!/usr/bin/perl
# docs/architecture.md, "Where a change goes": files and names that a recipe mentions are there. And docs/operations.md
# explains every row of INFO that an X-macro makes.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Source;
use Test::More;

my %text = map { $_ => Source::load($_)->{text} }
    grep { m{^(?:src|cluster|tests|docs|config)/.*\.(?:[ch]|t|md|yaml)$} } Source::paths();

# What is wrong with such a section.
sub recipe_faults {
    my ($section) = @_;
    my @faults;
    for my $row ($section =~ /^\|(.*)\|$/mg) {
        my ($files, $change) = $row =~ /^(.*?) \| (.*)$/ or next;
        my @paths = $row =~ m{`((?:src|cluster|tests|docs|config)/[\w./]+)`}g;
        push @faults, "$_ is not there" for grep { !-e "$Source::root/$_" } @paths;
        my $there = join "\n", map { $text{$_} // '' } @paths;
        push @faults, "'$_' is in none of the files of its row"
            for grep { $there !~ /\b\Q$_\E\b/ } $change =~ /`((?:struct |enum |node->)?\w*_\w+|struct \w+)`/g;
    }
    return @faults;
}

# Rows of an X-macro that the page does not name.
sub rows_missing {
    my ($header, $macro, $prefix, $page) = @_;
    my ($rows) = $header =~ /#define \Q$macro\E\(X\)(.*?[^\\])\n/s or return "$macro is not there";
    return grep { $page !~ /`\Q$_\E`/ } map { $prefix . $_ } $rows =~ /\bX\((\w+),/g;
}

is_deeply([recipe_faults("| `src/no_such.c` | `no_such_name` |\n")],
    ['src/no_such.c is not there', "'no_such_name' is in none of the files of its row"], 'a planted recipe is found');
my $planted = "#define A_STATS(X) \\\n    X(there, \"\") \\\n    X(gone, \"\")\n";
is_deeply([rows_missing($planted, 'A_STATS', 'a_', 'has `a_there`')], ['a_gone'], 'a planted row is found');

my ($section) = $text{'docs/architecture.md'} =~ /^(## Where a change goes\n.*?)^## /ms;
my @recipes = ($section // '') =~ /^### (.*)$/mg;
cmp_ok(scalar @recipes, '>=', 3, "recipes: @recipes");
is(join("\n", recipe_faults($section // '')), '', 'files and names of the recipes are there');

my @tables = (['cluster/node_report.h', 'NODE_STATS', ''], ['src/commands/commands.h', 'COMMANDS_STATS', ''],
    ['src/edge/clients/listener.h', 'LISTENER_STATS', ''],
    ['src/edge/peers/transport.h', 'TRANSPORT_STATS', 'transport_'],
    ['src/edge/central/central.h', 'CENTRAL_STATS', 'central_'],
    ['src/edge/store/store.h', 'STORE_STATS', 'store_'], ['src/limit/table.h', 'TABLE_STATS', '']);
my $page = $text{'docs/operations.md'};
is(join(' ', rows_missing($text{$_->[0]}, @$_[1, 2], $page)), '', "docs/operations.md explains $_->[1]") for @tables;

my ($reasons) = $text{'src/limit/verdict.h'} =~ /#define VERDICT_REASONS\(X\)(.*?[^\\])\n/s;
my @words = ($reasons // '') =~ /\bX\(\w+, "(\w+)"/g;
cmp_ok(scalar @words, '>', 5, 'reasons of refusals');
is(join(' ', grep { $_ ne 'allowed' && $page !~ /^\| `$_` \|/m } @words), '', "docs/operations.md explains each");
my ($schema) = $text{'docs/openapi.yaml'} =~ /^    Reason:\n      enum: \[(.*?)\]/ms;
is(($schema // '') =~ s/\s+/ /gr, join(', ', @words), 'docs/openapi.yaml lists them');
done_testing;
