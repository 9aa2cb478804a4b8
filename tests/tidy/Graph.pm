# Graph.pm: which file of the product needs which other one, by includes and by calls, and the circles that this makes.
#
# The one idea: an edge goes from the file that calls or includes to the file that defines the function or is included.
# A source and the header of its name count as one in a circle. The reading is by patterns, not by a compiler: a
# definition begins at the first column, and so do the braces of its body. Functions that are only pointed to count as
# called by the function that takes their address.
package Graph;

use strict;
use warnings;

# The functions that a file defines: {name, static, text}; `text` is the parameters and the body.
sub functions {
    my ($file) = @_;
    my (@found, $head, $open);
    for my $line (@{$file->{code}}) {
        if (defined $open) {
            $open->{text} .= "$line\n";
            if ($line =~ /^\}/) { push @found, $open; undef $open }
        } elsif ($line =~ /^\{/ && defined $head) {
            my ($before, $name) = $head =~ /^([^(]*?)(\w+)\s*\(/s;
            $open = {name => $name, static => $before =~ /\bstatic\b/ ? 1 : 0, text => $head . "\n"};
            undef $head;
        } elsif (defined $head) {
            $head .= "\n$line";
            undef $head if $line =~ /[;}]/;
        } elsif ($line =~ /^(?!#|struct\s+\w+\s*\{|enum\b|typedef\b|union\b|__extension__)[a-z_]\w*[\s*].*\w\s*\(/) {
            $head = $line =~ /;/ ? undef : $line;
        }
    }
    return @found;
}

# Names that the function calls or points to, but not those that it declares as variables of its own.
sub uses {
    my ($function, $is_known) = @_;
    my (%uses, %own);
    my $text = $function->{text};
    $own{$1} = 1 while $text =~ /\b(?!return\b|else\b|case\b|sizeof\b)\w+[\s*]+\**(\w+)\s*(?=[;=,)\[])/g;
    while ($text =~ /(?<![\w.>])([a-z_]\w*)\b(\s*\()?/g) {
        my ($name, $is_call) = ($1, defined $2);
        next if !$is_known->{$name} || $name eq $function->{name};
        $uses{$name} = 1 if $is_call || !$own{$name};
    }
    return keys %uses;
}

# The path of a quoted header, as written after -Isrc -Iinclude -I. or next to the includer.
sub header_path {
    my ($header, $includer, $exists) = @_;
    (my $beside = $includer) =~ s{[^/]+$}{};
    return (grep { $exists->{$_} } "$beside$header", "src/$header", "include/$header", $header)[0];
}

# {from}{to} => [what makes it: an include, or "caller > callee"], for the files that are given.
sub edges {
    my (@files) = @_;
    my %exists = map { $_->{path} => 1 } @files;
    my (%defined, %own, %functions, %edges);
    for my $file (@files) {
        my $path = $file->{path};
        $functions{$path} = [functions($file)];
        for (@{$functions{$path}}) {
            $own{$path}{$_->{name}} = 1;
            $defined{$_->{name}}{$path} = 1 if !$_->{static} || $path =~ /\.h$/;
        }
    }
    for my $file (@files) {
        my $path = $file->{path};
        for (@{$file->{code}}) {
            my ($header) = /^\s*#\s*include\s*"([^"]+)"/ or next;
            my $to = header_path($header, $path, \%exists);
            push @{$edges{$path}{$to}}, 'includes it' if defined $to && $to ne $path;
        }
        for my $function (@{$functions{$path}}) {
            for my $name (uses($function, \%defined)) {
                next if $own{$path}{$name};
                # Two programs may have functions of one name: the nearer one is meant.
                my @where = sort { common($path, $b) <=> common($path, $a) || $a cmp $b } keys %{$defined{$name}};
                push @{$edges{$path}{$where[0]}}, "$function->{name} > $name";
            }
        }
    }
    return \%edges;
}

# With how many letters both paths begin.
sub common {
    my ($a, $b) = @_;
    return length((($a ^ $b) =~ /^(\0*)/)[0]);
}

sub module {
    my ($path) = @_;
    return $path =~ s/\.[ch]$//r;
}

# Circles: the strongly connected parts of two modules and more, each a sorted list of modules, the largest first.
sub circles {
    my ($edges) = @_;
    my %all = map { ($_ => 1, map { $_ => 1 } keys %{$edges->{$_}}) } keys %$edges;
    my (%index, %low, %on, @stack, @circles, $visit);
    my $count = 0;
    $visit = sub {
        my ($at) = @_;
        $index{$at} = $low{$at} = $count++;
        push @stack, $at;
        $on{$at} = 1;
        for my $to (sort keys %{$edges->{$at} // {}}) {
            if (!defined $index{$to}) {
                $visit->($to);
                $low{$at} = $low{$to} if $low{$to} < $low{$at};
            } elsif ($on{$to}) {
                $low{$at} = $index{$to} if $index{$to} < $low{$at};
            }
        }
        return if $low{$at} != $index{$at};
        my (%members, $member);
        do {
            $member = pop @stack;
            $on{$member} = 0;
            $members{module($member)} = 1;
        } until $member eq $at;
        push @circles, [sort keys %members] if keys %members > 1;
    };
    no warnings 'recursion';
    $visit->($_) for grep { !defined $index{$_} } sort keys %all;
    return sort { @$b <=> @$a || $a->[0] cmp $b->[0] } @circles;
}

1;
