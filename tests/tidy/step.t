#!/usr/bin/perl
# Work that a step leaves for a later one: each kind in enum work is added, dropped and asked for, and the files that
# its comment names are those that do it.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Source;
use Test::More;

my ($header) = Source::load('cluster/state/step_state.h');
my @sources = map { Source::load($_) } grep { m{^cluster/.*\.[ch]$} && $_ ne $header->{path} } Source::paths();

# name => {comment, number}
sub kinds {
    my ($text) = @_;
    my ($enum) = $text =~ /enum work \{\n(.*?)\n\};/s or return {};
    my %kinds;
    $kinds{$2} = $1 while $enum =~ m{/\*(.*?)\*/\s*(\w+) = 1 << \d+,}gs;
    return \%kinds;
}

# {add|drop|ask}{kind}{name of the file}
sub uses {
    my (@files) = @_;
    my %uses;
    for my $file (@files) {
        my ($name) = $file->{path} =~ m{([^/]+)$};
        my $code = join "\n", @{$file->{code}};
        while ($code =~ /\btodo_(add|drop|put|has|add_if)\(&node->todo,\s*(\w+)/g) {
            my ($call, $kind) = ($1, $2);
            $uses{add}{$kind}{$name} = 1 if $call =~ /^(?:add|add_if|put)$/;
            $uses{drop}{$kind}{$name} = 1 if $call =~ /^(?:drop|put)$/;
            $uses{ask}{$kind}{$name} = 1 if $call eq 'has';
        }
    }
    return \%uses;
}

sub faults {
    my ($kinds, $uses) = @_;
    my @faults;
    for my $kind (sort keys %$kinds) {
        for my $how (qw(add drop ask)) {
            push @faults, "$kind: nothing does $how it" if !$uses->{$how}{$kind};
        }
        my %named = map { $_ => 1 } $kinds->{$kind} =~ /(\w+\.c)\b/g;
        my %changes = (%{$uses->{add}{$kind} // {}}, %{$uses->{drop}{$kind} // {}});
        push @faults, map { "$kind: $_ does not change it" } grep { !$changes{$_} } sort keys %named;
        next if $kinds->{$kind} =~ /\bAdded by many files/;
        push @faults, map { "$kind: its comment does not name $_" } grep { !$named{$_} } sort keys %changes;
    }
    return @faults;
}

my $kinds = kinds($header->{text});
cmp_ok(scalar keys %$kinds, '>=', 13, 'there are kinds of work');
is_deeply([faults($kinds, uses(@sources))], [], 'each is added, dropped and asked for, where its comment says');

my $adds = Source::file('cluster/a.c', "todo_add(&node->todo, DO_A);\nx = todo_has(&node->todo, DO_A);\n");
my $drops = Source::file('cluster/b.c', "todo_drop(&node->todo, DO_A);\n");
is_deeply([faults({DO_A => ' Added by a.c; dropped by b.c. '}, uses($adds))],
    ['DO_A: nothing does drop it', 'DO_A: b.c does not change it'], 'what is never dropped is found');
is_deeply([faults({DO_A => ' Added here. '}, uses($adds, $drops))],
    ['DO_A: its comment does not name a.c', 'DO_A: its comment does not name b.c'],
    'a file that the comment does not name is found');
done_testing();
