# Documents.pm: the examples of README.md and docs/*.md, and what may differ between an answer and its printed form.
#
# A block is indented by four blanks, or fenced by ```. It is one of four:
#
#   a session          It begins with "$ ". Each line that begins so is a command (a \ at its end goes on with the next
#                      line), and the lines below are its whole answer. "  # ..." at the end of such a line is a remark.
#                      "$ cat FILE", where the tree has no FILE, makes that file.
#   rules              ```yaml: tests/unit/rules/rule_examples.c reads them all.
#   figures            Between <!-- figures: NAME --> and <!-- end -->: tests/bench/publish writes them.
#   not run            A comment stands before it: <!-- not run: REASON -->. REASONS has them, and docs.t counts them.
#
# Comments before a session say what may differ from its printed form, and nothing else may:
#
#   <!-- varies: pid -->        the number in "pid 123"
#   <!-- varies: elapsed -->    times that count down, in ms (or "# seconds"): less by no more than the session took
#   <!-- varies: load -->       the tokens of a region and their sum in a row of `make up`: see load_row
#   <!-- varies: links -->      in a row of `headgate nodes` the times and the batches on their way
#   <!-- varies: report -->     the figures of `headgate load`, but not what was asked for, nor that the bound is kept
#   <!-- varies: demand -->     what EXPLAIN says of tokens in flight: it follows what was asked for lately
#   <!-- within 10 s -->        `headgate nodes` and `rules list`, which only look, are given again until they answer so
package Documents;

use strict;
use warnings;

our %REASONS = map { $_ => 1 } (
    'a picture',          # of the cluster, of the tree
    'a formula',
    'a format',           # of messages, of requests, of a command's words
    'a figure',           # a unit test holds its lines: tests/unit/cluster/settle_timeline.c
    'a log',              # lines that a daemon may write
    'another config',     # of a daemon than that of the page
    'another language',   # whose programs may not be here: tests/e2e/failover.t runs the example where they are
    'a measurement',      # figures of another machine, and how they were measured: minutes of load
    'the whole system',   # root installs packages or files, or containers start
    'the whole tree',     # it is cloned, built or checked
);

# [{line, lines => [...], fence, comments => [...]}] of a text.
sub blocks {
    my ($text) = @_;
    my (@blocks, @comments, $open, $fence);
    my ($number, $blank) = (0, 1);
    for my $line (split /\n/, $text) {
        $number++;
        next if ($line =~ /^<!-- figures: / .. $line eq '<!-- end -->');
        if (defined $fence) {
            if ($line =~ /^```/) { undef $fence; undef $open; next }
            push @{$open->{lines}}, $line;
        } elsif ($line =~ /^```(\w*)/) {
            $fence = $1;
            $open = {line => $number, lines => [], fence => $fence, comments => [splice @comments]};
            push @blocks, $open;
        } elsif ($line =~ /^    (.*\S.*)/ && ($open || $blank)) {
            if (!$open) {
                $open = {line => $number, lines => [], comments => [splice @comments]};
                push @blocks, $open;
            }
            push @{$open->{lines}}, ('') x ($open->{blanks} // 0), $1;
            $open->{blanks} = 0;
        } elsif ($line =~ /^\s*$/) {
            $open->{blanks}++ if $open;
        } else {
            undef $open;
            if ($line =~ /^<!-- (.*) -->$/) { push @comments, $1 } else { @comments = () }
        }
        $blank = $line =~ /^\s*$/ || $line =~ /^<!-- .* -->$/;
    }
    return @blocks;
}

# [{command, answer => [lines], line}] of a session.
sub steps {
    my ($block) = @_;
    my (@steps, $goes_on);
    my $number = $block->{line} - 1;
    for my $line (@{$block->{lines}}) {
        $number++;
        if ($goes_on) {
            $steps[-1]{command} .= "\n$line";
            $goes_on = $line =~ /\\$/;
        } elsif ($line =~ /^\$ (.*)/) {
            push @steps, {command => $1, answer => [], line => $number};
            $goes_on = $line =~ /\\$/;
        } else {
            push @{$steps[-1]{answer}}, $line;
        }
    }
    return @steps;
}

# ---- what may differ ----

# Lines that are equal but for the numbers that `pattern` finds; compare->(expected, got) says whether these agree.
sub agree {
    my ($pattern, $compare, $expected, $got) = @_;    # no groups in the pattern
    my @expected = $expected =~ /$pattern/g;
    my @got = $got =~ /$pattern/g;
    return 0 if !@expected || @expected != @got;
    return 0 if ($expected =~ s/$pattern/?/gr) ne ($got =~ s/$pattern/?/gr);
    return !grep { !$compare->($expected[$_], $got[$_]) } 0 .. $#expected;
}

# "  300 requests, once   32  31  31  94  100  120  holds": regions, their sum, one bucket, the bound, the verdict. The
# sum is that of the regions and keeps the bound; one bucket and the bound are as printed but for the refill of 200 ms.
sub load_row {
    my ($expected, $got) = @_;
    my $row = qr/^(  \d+ requests.*?)\s{2,}(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)  (holds)$/;
    my ($title, @expected) = $expected =~ $row or return 0;
    my ($same, @got) = $got =~ $row or return 0;
    return 0 if $title ne $same || $got[0] + $got[1] + $got[2] != $got[3] || $got[3] > $got[5];
    return abs($got[4] - $expected[4]) <= 20 && abs($got[5] - $expected[5]) <= 20;
}

# HEARD, ROUND TRIP, LAG, LOG and CLOCK of `headgate nodes`; the width of its columns follows from them.
sub links_row {
    my @rows = map { s/\s+/ /gr } @_[0, 1];
    my $time = qr/(?:-|\d+(?:\.\d+)? (?:us|ms|s)(?: ago)?)/;
    my @fixed = map { /^(\S+(?: \*)? \S+ \S+ \S+%) $time $time \d+ \d+ (?:-|good) (\S+ \S+)$/ ? "$1 $2" : $_ } @rows;
    return $fixed[0] eq $fixed[1];
}

# Figures of `headgate load`: how many, how fast; overshoot is 0.00 as printed.
sub report_line {
    my ($expected, $got) = @_;
    return 0 if $expected =~ /^overshoot|^limit | to 3 together /;
    my $shape = sub { return $_[0] =~ s/[\d.,]+(?: (?:us|ms|s)\b)?/?/gr =~ s/ +/ /gr };
    return $shape->($expected =~ s/^127\S+//r) eq $shape->($got =~ s/^127\S+//r);
}

my %varies = (
    pid => [qr/\bpid \d+/, sub { return agree(qr/\bpid \K\d+/, sub { 1 }, @_) }],
    elapsed => [qr/\b\d+ ms\b|^\d\) \(integer\) \d+ +# .*\b(?:ms|seconds)\b/, sub {
        my ($expected, $got, $elapsed_ms, $remark) = @_;
        my $where = $remark =~ /\b(?:ms|seconds)\b/ ? qr/^\d\) \(integer\) \K\d+$/ : qr/\d+(?= ms\b)/;
        my $less = $remark =~ /\bseconds\b/ ? $elapsed_ms / 1000 : $elapsed_ms;
        return agree($where, sub { return $_[1] <= $_[0] && $_[1] >= $_[0] - $less - 1 }, $expected, $got);
    }],
    demand => [qr/in flight between peers [\d.]+$/,
               sub { return agree(qr/in flight between peers \K[\d.]+$/, sub { 1 }, @_) }],
    load => [qr/requests.* holds$/, \&load_row],
    links => [qr/^\S+.* (?:same|CONFIG) +\S+$/, \&links_row],
    report => [qr/^bound .*; kept$/, \&report_line],
);

# The kinds that a block's comments name; dies of one that is unknown, or that no line of the block can need.
sub kinds_of {
    my ($block) = @_;
    my @kinds = map { /^varies: (.*)/ ? split / /, $1 : () } @{$block->{comments}};
    for my $kind (@kinds) {
        my ($where) = @{$varies{$kind} // die "unknown: varies: $kind\n"};
        die "nothing varies by $kind\n" if !grep { $_ =~ $where } @{$block->{lines}};
    }
    return @kinds;
}

# A line of an answer, and the remark behind it.
sub split_remark { return $_[0] =~ /^(.*?)\s{2,}(# .*)$/ ? ($1, $2) : ($_[0], '') }

# True when the answer is as printed; the kinds say what may differ.
sub same {
    my ($expected, $got, $elapsed_ms, @kinds) = @_;
    return 0 if @$expected != @$got;
    for my $i (0 .. $#$expected) {
        my ($want, $remark) = split_remark($expected->[$i]);
        my $have = $got->[$i] =~ s/\s+$//r;
        next if $want eq $have;
        return 0 if !grep { $varies{$_}[1]->($want, $have, $elapsed_ms, $remark) } @kinds;
    }
    return 1;
}

1;
