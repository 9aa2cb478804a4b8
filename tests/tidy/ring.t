#!/usr/bin/perl
# Which files of the product need each other in a circle, by calls and by includes: how many they are is bounded, room
# by room. `prove -v` prints the circles. With EDGES=1 it also prints what makes them.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Source;
use Graph;
use Test::More;

# Modules (a source with its header) in the largest circle that a file of the room is in.
my %most = (base => 1, limit => 3, rules => 3, wire => 1, cluster => 5, edge => 5, server => 4, command => 1);

my @files = map { Source::load($_) } grep { m{^(?:src|cluster|include)/.*\.[ch]$} } Source::paths();

sub largest {
    my (@circles) = @_;
    my %largest;
    for my $circle (@circles) {
        for my $room (map { Source::room("$_.c") } @$circle) {
            $largest{$room} = @$circle if @$circle > ($largest{$room} // 0);
        }
    }
    return \%largest;
}

# What must be found before it is believed that there is no more.
my @planted = Graph::circles(Graph::edges(
    Source::file('cluster/a.c', qq{#include "cluster/b.h"\n\nvoid a_step(int x)\n{\n    b_step(x);\n}\n}),
    Source::file('cluster/b.h', "void b_step(int x);\n"),
    Source::file('cluster/b.c', "static void call(void (*f)(int));\nvoid b_step(int x)\n{\n    c_step(x);\n}\n"),
    Source::file('cluster/c.h', "static inline void c_step(int x)\n{\n    call(a_step);\n}\n"),
    Source::file('cluster/d.c', "void d_step(int a_step)\n{\n    b_step(a_step);\n}\n")));
is_deeply(\@planted, [['cluster/a', 'cluster/b', 'cluster/c']], 'a planted circle is found, and nothing else');

my $edges = Graph::edges(@files);
my @circles = Graph::circles($edges);
note(scalar(@$_), ': ', join ' ', @$_) for @circles;
my $largest = largest(@circles);
for my $room (sort keys %most) {
    my $count = $largest->{$room} // 1;
    cmp_ok($count, '<=', $most{$room}, "$room: the largest circle has $count files, $most{$room} at most");
}

if ($ENV{EDGES}) {
    for my $circle (@circles) {
        my %in = map { $_ => 1 } @$circle;
        for my $from (sort keys %$edges) {
            for my $to (sort keys %{$edges->{$from}}) {
                next if !$in{Graph::module($from)} || !$in{Graph::module($to)};
                next if Graph::module($from) eq Graph::module($to);
                note("$from -> $to: ", join ', ', @{$edges->{$from}{$to}});
            }
        }
    }
}
done_testing();
