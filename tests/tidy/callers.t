#!/usr/bin/perl
# A function that a header of the product declares has a caller in the product. A call that only tests need belongs
# into tests/lib, or the tests use what the product calls. What include/ declares is called by other programs.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Source;
use Test::More;

# Functions for tests, each with the reason why it must stand in the product.
my %for_tests = (
    hitters_check => 'invariants of a structure, which must see its private fields',
    node_validate => 'invariants between the parts of a node, which no other file can see together',
);

# The first name before a bracket, if the line begins a declaration or a definition in the first column.
sub declared {
    my ($line) = @_;
    return if $line !~ /^[a-z_]/ || $line =~ /^(?:typedef\b|enum\b[^(]*\{)/;
    $line =~ s/__attribute__\s*\(\(.*?\)\)//g;
    return $line =~ /(?<![\w(])([a-z]\w*)\(/ ? $1 : undef;
}

# Whatever stands in the first column declares or defines; any other use of a name, and one in a macro, is a call or
# hands the function on.
sub uncalled {
    my (@files) = @_;
    my (%where, %used);
    for my $file (@files) {
        for my $i (0 .. $#{$file->{code}}) {
            my $line = $file->{code}[$i];
            my $name = declared($line);
            $where{$name} //= "$file->{path}:" . ($i + 1) if defined $name && $file->{path} =~ /\.h$/;
            next if $line =~ /^[a-z_]/ && defined $name && $line !~ /\{.*\}/;
            $used{$_} = 1 for $line =~ /\b([a-z_]\w*)\b/g;
        }
    }
    return map { [$where{$_}, $_] } sort grep { !$used{$_} } keys %where;
}

my @planted = (Source::file('src/base/a.h', "int a_alone(int x);\nint a_called(int x);\nint a_handed_on(void);\n"
            . "enum a a_kind(void);\n__attribute__((always_inline)) static inline bool\n"
            . "a_in_line(int x)\n{\n    return a_called(x);\n}\n"),
    Source::file('src/base/a.c', "int a_alone(int x)\n{\n    return a_called(x);\n}\nint a_called(int x)\n{\n"
            . "    x.f = a_handed_on;\n    return x;\n}\n"));
is(join(' ', map { $_->[1] } uncalled(@planted)), 'a_alone a_in_line a_kind', 'functions without a caller are seen');

my @found = uncalled(map { Source::load($_) } grep { m{^(?:src|cluster)/.*\.[ch]$} } Source::paths());
my %missed = map { $_ => 1 } keys %for_tests;
delete @missed{map { $_->[1] } @found};
my @faults = map { "$_->[0]: only tests can call $_->[1]" } grep { !$for_tests{$_->[1]} } @found;
ok(!@faults, 'the product calls what its headers declare');
diag(join "\n", @faults) if @faults;
ok(!%missed, 'and each exception is one');
diag(join ' ', sort keys %missed) if %missed;
done_testing();
