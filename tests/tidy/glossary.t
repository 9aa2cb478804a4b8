#!/usr/bin/perl
# docs/glossary.md: each noun stands there once, in order, and each name in its last column exists.
use strict;
use warnings;
use FindBin;
use Test::More;

my $root = "$FindBin::Bin/../..";

sub text {
    open my $file, '<', $_[0] or return '';
    local $/;
    return scalar <$file>;
}

my $code = join "\n", map { text($_) } split /\n/, `find '$root/src' '$root/cluster' '$root/include' -name '*.[ch]'`;

# What is wrong with such a page; empty: nothing.
sub faults {
    my ($page) = @_;
    my (@faults, %seen);
    for my $table (split /^## /m, $page) {
        my @rows = grep { !/^(noun|---)/ } $table =~ /^\| (.*) \|$/mg;
        my @nouns = map { (split / \| /)[0] } @rows;
        push @faults, "'$_' stands there twice" for grep { $seen{$_}++ } @nouns;
        push @faults, "nouns are not in alphabetical order: @nouns"
            if join(',', @nouns) ne join(',', sort { lc $a cmp lc $b } @nouns);
        for my $row (@rows) {
            my ($noun, $meaning, $where) = split / \| /, $row;
            push @faults, "'$noun' has no meaning" if length($meaning // '') < 10;
            push @faults, "'$noun' names no code" if ($where // '') !~ /`/;
            for my $name (($where // '') =~ /`([^`]+)`/g) {
                push @faults, "'$noun' names $name, which is not there"
                    if $name =~ m{/} ? !-e "$root/$name" : $code !~ /\b\Q$name\E/;
            }
        }
    }
    return @faults;
}

my $page = text("$root/docs/glossary.md");
cmp_ok(scalar(() = $page =~ /^\| [a-z]/mg), '>=', 50, 'there are nouns');
is_deeply([faults($page)], [], 'each stands there once, in order, and names code that exists');

# The check itself.
my %planted = (
    'a noun that is twice there' => $page =~ s/^(\| cell .*\n)/$1$1/mr,
    'a noun without a meaning' => $page =~ s/^\| cell \| [^|]* \|/| cell |  |/mr,
    'a name that is not there' => $page =~ s/`LIMIT_CELL`/`LIMIT_SELL`/r,
    'a file that is not there' => $page =~ s{cluster/[a-z/_]*return\.c}{cluster/no_return.c}r,
    'a noun out of order' => $page =~ s/^\| cell /| zell /mr,
);
for my $name (sort keys %planted) {
    isnt($planted{$name}, $page, "$name is planted");
    cmp_ok(scalar faults($planted{$name}), '>', 0, "$name is found");
}
done_testing();
