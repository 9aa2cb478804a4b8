#!/usr/bin/perl
# The table of invariants in docs/accounting.md: what it says that holds each of them exists, and no planted bug and no
# law of the bound is missing in it.
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

my @bugs = map { m{([^/]+)\.patch$} } glob "$root/tests/sim/canary/*.patch";
my @laws = map { text($_) =~ /sim_fail\(\s*sim,\s*"([a-z ]+):/g } glob "$root/tests/sim/*.c";
my %bug = map { $_ => 1 } @bugs;
my %law = map { $_ => 1 } @laws;

# What is wrong with a page that has such a table; empty: nothing.
sub faults {
    my ($page) = @_;
    my (@faults, %named);
    my @rows = $page =~ /^\| (I\d+ \| .*?) \|$/mg;
    my @expected = map { 'I' . $_ } 1 .. @rows;
    my @numbers = map { /^(I\d+)/ } @rows;
    push @faults, "rows are @numbers, not @expected" if "@numbers" ne "@expected";
    for my $row (@rows) {
        my ($number, undef, $holders) = split / \| /, $row, 3;
        push @faults, "$number: nothing holds it" if ($holders // '') !~ /`/;
        for my $part (split /; /, $holders // '') {
            my $kind = $part =~ /^laws? / ? 'law' : $part =~ /^planted / ? 'planted' : 'file';
            for my $name ($part =~ /`([^`]+)`/g) {
                $named{$name} = 1;
                push @faults, "$number: there is no law '$name'" if $kind eq 'law' && !$law{$name};
                push @faults, "$number: there is no planted bug '$name'" if $kind eq 'planted' && !$bug{$name};
                push @faults, "$number: there is no file $name" if $name =~ m{/} && !-e "$root/$name";
            }
        }
    }
    push @faults, map { "the planted bug '$_' is of no invariant" } grep { !$named{$_} } @bugs;
    my @cited = $page =~ /\bI(\d+)\b/g;
    push @faults, map { "I$_ is cited and not in the table" } grep { $_ > @rows } @cited;
    return @faults;
}

my $page = text("$root/docs/accounting.md");
cmp_ok(scalar @bugs, '>=', 20, 'there are planted bugs');
cmp_ok(scalar keys %law, '>=', 20, 'there are laws');
cmp_ok(scalar(() = $page =~ /^\| I\d+ \|/mg), '>=', 15, 'there is a table of invariants');
is_deeply([faults($page)], [], 'all that holds an invariant exists, and every planted bug breaks one');

# The check itself.
my %planted = (
    'a law that is not there' => $page =~ s/law `reach`/law `raech`/r,
    'a bug that is not there' => $page =~ s/`merge-raw`/`merge-rare`/gr,
    'a bug that breaks nothing' => $page =~ s/, `merge-raw`//gr,
    'a file that is not there' => $page =~ s{tests/sim/search\.t}{tests/sim/serach.t}r,
    'a row that is held by nothing' => $page =~ s/\| laws `log`[^|]*\|/| hope |/r,
    'a number that is twice there' => $page =~ s/^\| I3 /| I2 /mr,
    'a citation of no row' => $page =~ s/\(I1\)/(I99)/r,
);
for my $name (sort keys %planted) {
    isnt($planted{$name}, $page, "$name is planted");
    cmp_ok(scalar faults($planted{$name}), '>', 0, "$name is found");
}
done_testing();
