#!/usr/bin/perl
# Which files of the product need each other in a circle, by calls and by includes: how many they are is bounded, room
# by room. And inside cluster/, calls and includes go down, from folder to folder. `prove -v` prints the circles. With
# EDGES=1 it also prints what makes them.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Source;
use Graph;
use Test::More;

# Modules (a source with its header) in the largest circle that a file of the room is in.
my %most = (base => 1, limit => 3, rules => 2, wire => 1, cluster => 5, edge => 6, server => 1,
            commands => 4, http => 1, grpc => 1, command => 1);

# The folders of cluster/: each may need itself and those before it, and the files beside the folders may need all.
# Everybody may need the headers in @open: they say what others see of a node, and have no functions of their own.
my @folders = qw(codec state spend log apply members plane snapshot);
my @open = map { "cluster/$_.h" }
    qw(node node_event node_options node_report node_rules node_limits node_weights node_version);

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

sub level {
    my ($path) = @_;
    return if $path !~ m{^cluster/(?:(\w+)/)?} || grep { $_ eq $path } @open;
    return scalar @folders if !defined $1;
    return (grep { $folders[$_] eq $1 } 0 .. $#folders)[0] // die "$path: the folder is not in the order";
}

# What a file of cluster/ needs of a folder above its own.
sub upward {
    my ($edges) = @_;
    my @found;
    for my $from (sort keys %$edges) {
        for my $to (sort keys %{$edges->{$from}}) {
            my ($below, $above) = (level($from), level($to));
            next if !defined $below || !defined $above || $above <= $below;
            push @found, "$from -> $to: " . join ', ', @{$edges->{$from}{$to}};
        }
    }
    return @found;
}

# What must be found before it is believed that there is no more.
my @planted = Graph::circles(Graph::edges(
    Source::file('cluster/a.c', qq{#include "cluster/b.h"\n\nvoid a_step(int x)\n{\n    b_step(x);\n}\n}),
    Source::file('cluster/b.h', "void b_step(int x);\n"),
    Source::file('cluster/b.c', "static void call(void (*f)(int));\nvoid b_step(int x)\n{\n    c_step(x);\n}\n"),
    Source::file('cluster/c.h', "static inline void c_step(int x)\n{\n    call(a_step);\n}\n"),
    Source::file('cluster/d.c', "void d_step(int a_step)\n{\n    b_step(a_step);\n}\n")));
is_deeply(\@planted, [['cluster/a', 'cluster/b', 'cluster/c']], 'a planted circle is found, and nothing else');

my @planted_upward = upward(Graph::edges(
    Source::file('cluster/node.h', "struct node;\n"),
    Source::file('cluster/log/a.h', qq{#include "cluster/node.h"\n#include "cluster/codec/c.h"\nvoid a(void);\n}),
    Source::file('cluster/log/a.c', "void a(void)\n{\n    b();\n}\n"),
    Source::file('cluster/plane/b.c', qq{#include "cluster/log/a.h"\nvoid b(void)\n{\n    a();\n}\n}),
    Source::file('cluster/codec/c.h', qq{#include "cluster/log/a.h"\n})));
is_deeply(\@planted_upward, ['cluster/codec/c.h -> cluster/log/a.h: includes it',
    'cluster/log/a.c -> cluster/plane/b.c: a > b'], 'a planted call and a planted include go up');

my $edges = Graph::edges(@files);
my @upward = upward($edges);
ok(!@upward, 'in cluster/, calls and includes go down: node, then ' . join ', ', reverse @folders);
diag(join "\n", @upward) if @upward;
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
