# Slices.pm: latency measured in many short slices by turns, and what can be said of a server from them where others use
# the machine as well.
#
# What others do to a slice shows as milliseconds in its p99 and p99.9, whoever is measured; from a few long runs, or
# from all slices together, one learns who had bad luck, and two servers that differ by a factor of two look alike. What
# a server does to itself is in each of its slices, if they are longer than whatever it does by turns (gossip: 0.1 s).
# So what is compared is the mean of the lowest third: nearly undisturbed, and not one that was lucky. That is blind to
# what a server does more rarely than in two slices of three: the median slice and all slices together are shown beside.
#
# Slices in which the load generator itself was held up say nothing of who was asked: where its p99.9 of lateness with
# connections that were free was above a quarter of a millisecond, they count only if fewer than a quarter are left.
#
# What is measured is a list of phases, each a list of slices: what lasts (a server that is asked) has one, what begins
# and ends (a peer that joins) several. Phases are looked at one by one, and the worst of them counts.
package Slices;

use strict;
use warnings;
use Bench;
use List::Util qw(max min shuffle sum);
use POSIX ();

our @percentiles = ('p50', 'p99', 'p99.9', 'max');
my $quiet_part = 1 / 3;
my $late_ns = 250_000;
my $count_least = 3;
my $draws = 200;
my $tries_most = 3;

# The load generator goes before whoever else wants its core, where that is allowed. Peers stand for other machines,
# and those that run only when nobody else wants to (SCHED_IDLE) get 0.7 ms at a time all the same: who has run a moment
# before waits for who has not (Linux 6.18). Not while a peer has to join, or to hear of a tick: it may starve.
our $goes_first = 0;

# How often a server, or the machine, stood still for a whole slice: then it is asked once more.
our $silent_count = 0;

# Asks the server for so long on a schedule. What came in time says nothing where the schedule was not kept.
sub take {
    my ($port, $rate, $seconds, @options) = @_;
    local @Bench::load_class = $goes_first ? ('chrt', '-f', 1) : ();
    my ($report, $tries);
    while (1) {
        $report = Bench::load_at($port, 'CAN_ACCESS {key}', '--prefix', 'key:', '--pipeline', 1, '--histogram',
                                 '--rate', sprintf('%.0f', $rate), '--seconds', $seconds, '--warmup', 0.05, @options);
        last if @{$report->{latency_histogram}};
        $silent_count++;
        die "nothing is answered in time\n" if ++$tries == $tries_most;
    }
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

# Those that the load generator kept its schedule in, or at least a quarter of all: the ones in which it was least late.
sub on_time {
    my @slices = sort { $a->{late} <=> $b->{late} } @_;
    my $on_time = grep { $_->{late} <= $late_ns } @slices;
    my $count = max($on_time, int(@slices / 4), min($count_least, scalar @slices));
    return @slices[0 .. $count - 1];
}

# At least two, if there are: one alone may be lucky.
sub lowest {
    my $count = min(scalar @_, max(2, POSIX::ceil($quiet_part * @_))) or die "there are no slices\n";
    return sum(@_[0 .. $count - 1]) / $count;
}
sub median { return at_part(0.5, @_) }

# One figure of the slices, of the worst phase; `part` is lowest or median.
sub figure {
    my ($of, $part, $phases) = @_;
    return max(map { $part->(sort { $a <=> $b } map { $_->{$of} } on_time(@$_)) } @$phases);
}

# Sorts the slices of something that begins and ends into so many phases.
sub into_phases {
    my ($phases, @slices) = @_;
    push @{$phases->[$_ * @$phases / @slices]}, $slices[$_] for 0 .. $#slices;
    return;
}

sub quiet { my ($of, $phases) = @_; return figure($of, \&lowest, $phases) }

# Prints three rows, and returns them.
sub show {
    my ($what, $phases) = @_;
    my @figures = (@percentiles, 'late');
    my %row = (quiet => {map { $_ => quiet($_, $phases) } @figures},
               median => {map { $_ => figure($_, \&median, $phases) } @figures}, all => pooled(map { @$_ } @$phases),
               slices => scalar(map { @$_ } @$phases), on_time => scalar(map { on_time(@$_) } @$phases));
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

sub with_replacement { return map { $_[rand @_] } @_ }

# How one figure of a server compares with another's: their ratio, or `to_ms`, the difference. `low` to `high`: nine of
# ten when slices are drawn again; `itself`: the same of halves of what is compared with, which should be nothing.
sub compare {
    my ($of, $ours, $others, $to_ms) = @_;
    my $between = sub {
        my ($one, $other) = map { quiet($of, $_) } @_;
        return $to_ms ? ($one - $other) / 1e6 : $one / $other;
    };
    srand 1;
    my @again = map {
        $between->([map { [with_replacement(@$_)] } @$ours], [map { [with_replacement(@$_)] } @$others]);
    } 1 .. $draws;
    my @itself = map {
        my @rest = map { [shuffle(@$_)] } @$others;
        my @half = map { [splice @$_, 0, @$_ / 2] } @rest;
        $between->(\@half, \@rest);
    } 1 .. $draws;
    return {value => $between->($ours, $others), %{range(@again)}, itself => range(@itself)};
}

sub show_compared {
    my ($what, $to, $compared, $format) = @_;
    printf "  %-46s  $format  ($format .. $format); $to against itself $format .. $format\n", $what,
        @$compared{qw(value low high)}, @{$compared->{itself}}{qw(low high)};
    return;
}

1;
