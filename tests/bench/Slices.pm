# Slices.pm: latency measured in many short slices by turns, and what can be said of a server from them where others use
# the machine as well.
#
# What others do to a slice shows as milliseconds in its p99 and p99.9, whoever is measured; from a few long runs, or
# from all slices together, one learns who had bad luck, and two servers that differ by a factor of two look alike. What
# a server does to itself is in each of its slices, if they are longer than whatever it does by turns (gossip: 0.1 s).
# So what is compared is the slice at a tenth from below: nearly undisturbed, and not the luckiest. That is blind to
# what a server does more rarely than in nine slices of ten: the median slice and all slices together are shown beside.
#
# A turn is a list of slices, one for each moment of what is measured (the first quarter of a second in which a peer
# joins, the second, ...): those of one moment are compared, and of all moments the slices at a tenth are put together.
package Slices;

use strict;
use warnings;
use Bench;
use List::Util qw(max min shuffle);

our @percentiles = ('p50', 'p99', 'p99.9', 'max');
my $quiet_part = 0.1;
my $draws      = 200;
my $few_draws  = 20; # of several moments: they take a while

# Asks the server for so long on a schedule. What came in time says nothing where the schedule was not kept.
sub take {
    my ($port, $rate, $seconds, @options) = @_;
    my $report = Bench::load_at($port, 'CAN_ACCESS {key}', '--prefix', 'key:', '--pipeline', 1, '--histogram',
                                '--rate', sprintf('%.0f', $rate), '--seconds', $seconds, '--warmup', 0.05, @options);
    return {%{$report->{latency_ns}}, late => $report->{late_ns}{'p99.9'}, histogram => $report->{latency_histogram}};
}

sub at_part { my ($part, @sorted) = @_; return $sorted[int($part * $#sorted + 0.5)] }

# Percentiles of all that the slices counted.
sub pooled {
    my (@slices) = @_;
    my %times;
    for my $slice (@slices) { $times{$_->[0]} += $_->[1] for @{$slice->{histogram}} }
    my @values = sort { $a <=> $b } keys %times;
    my $count = 0;
    $count += $_ for values %times;
    my $below = sub {
        my ($left) = @_;
        for (@values) { return $_ if ($left -= $times{$_}) <= 0 }
        return $values[-1];
    };
    return {max => $values[-1], late => max(map { $_->{late} } @slices),
            map { $_ => $below->(substr($_, 1) / 100 * $count) } 'p50', 'p99', 'p99.9'};
}

# Of each moment the slice at that part from below, by one of its figures; then that figure of them together.
sub figure {
    my ($of, $part, $turns) = @_;
    my @slices;
    for my $moment (0 .. max(map { $#$_ } @$turns)) {
        my @at = sort { $a->{$of} <=> $b->{$of} } grep { $_ } map { $_->[$moment] } @$turns;
        push @slices, at_part($part, @at);
    }
    return @slices == 1 ? $slices[0]{$of} : pooled(@slices)->{$of};
}

sub quiet { my ($of, $turns) = @_; return figure($of, $quiet_part, $turns) }

# Prints three rows, and returns them.
sub show {
    my ($what, $turns) = @_;
    my @figures = (@percentiles, 'late');
    my %row = (quiet => {map { $_ => figure($_, $quiet_part, $turns) } @figures},
               median => {map { $_ => figure($_, 0.5, $turns) } @figures}, all => pooled(map { @$_ } @$turns),
               slices => scalar map { @$_ } @$turns);
    for my $kind ('quiet', 'median', 'all') {
        printf "  %-38s %-7s", $kind eq 'quiet' ? $what : '', $kind;
        printf "  %8.3f", $row{$kind}{$_} / 1e6 for @figures;
        print "\n";
    }
    return \%row;
}

sub show_head {
    my ($what) = @_;
    printf "\n%-48s  %8s  %8s  %8s  %8s  %8s\n", "$what; ms", 'p50', 'p99', 'p99.9', 'longest', 'late';
    return;
}

sub range {
    my @sorted = sort { $a <=> $b } @_;
    return {low => at_part(0.05, @sorted), high => at_part(0.95, @sorted)};
}

sub with_replacement { my ($turns) = @_; return [map { $turns->[rand @$turns] } @$turns] }

# How one figure of a server compares with another's: their ratio, or `to_ms`, the difference. `low` to `high`: nine of
# ten when turns are drawn again; `itself`: the same of halves of what is compared with, which should be nothing.
sub compare {
    my ($of, $ours, $others, $to_ms) = @_;
    my $between = sub {
        my ($one, $other) = map { quiet($of, $_) } @_;
        return $to_ms ? ($one - $other) / 1e6 : $one / $other;
    };
    my $again = @{$ours->[0]} > 1 ? $few_draws : $draws;
    srand 1;
    my @again = map { $between->(with_replacement($ours), with_replacement($others)) } 1 .. $again;
    my @itself = map {
        my @turns = shuffle(@$others);
        my @half = splice @turns, 0, @turns / 2;
        $between->(\@half, \@turns);
    } 1 .. $again;
    return {value => $between->($ours, $others), %{range(@again)}, itself => range(@itself)};
}

sub show_compared {
    my ($what, $to, $compared, $format) = @_;
    printf "  %-46s  $format  ($format .. $format); $to against itself $format .. $format\n", $what,
        @$compared{qw(value low high)}, @{$compared->{itself}}{qw(low high)};
    return;
}

1;
