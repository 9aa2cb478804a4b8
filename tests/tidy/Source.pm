# Source.pm: the files that the source rules look at, with comments and strings blanked out.
#
# A file is {path, text, lines, code}: `code` has the same lines as `lines`, but comments and the insides of
# strings are spaces, so that a rule about calls does not stumble over prose.
package Source;

use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Find;

our $root = abs_path(dirname(__FILE__) . '/../..');

# What git knows, or, without git (a tarball), what is there apart from what is built.
sub paths {
    my @paths = -e "$root/.git" ? split /\0/, `git -C '$root' ls-files -z` : ();
    if (!@paths) {
        find({no_chdir => 1, wanted => sub {
            $File::Find::prune = 1 if m{/(build|run|node_modules)$};
            push @paths, substr $_, length("$root/") if -f;
        }}, $root);
    }
    return sort grep { -f "$root/$_" && !/\.png$/ } @paths; # pictures are no text
}

sub blank {
    my ($text) = @_;
    $text =~ s/[^\n]/ /g;
    return $text;
}

# Strings keep their quotes, except in #include lines, where the name matters.
sub code_of {
    my ($text) = @_;
    $text =~ s{
        ^(\h*\#\h*include\b[^\n]*)              # 1: kept
      | (/\*.*?\*/ | //[^\n]*)                  # 2: a comment
      | "((?:\\.|[^"\\\n])*)"                   # 3: a string
      | '((?:\\.|[^'\\\n])*)'                   # 4: a character
    }{defined $1 ? $1 : defined $2 ? blank($2) : defined $3 ? '"' . blank($3) . '"' : "'" . blank($4) . "'"}gemsx;
    return $text;
}

sub file {
    my ($path, $text) = @_;
    return {
        path  => $path,
        text  => $text,
        lines => [split /\n/, $text],
        code  => $path =~ /\.[ch]$/ ? [split /\n/, code_of($text)] : [],
    };
}

sub load {
    my ($path) = @_;
    open my $in, '<', "$root/$path" or die "$path: $!";
    local $/;
    return file($path, scalar <$in> // '');
}

# The room that a file lives in.
sub room {
    my ($path) = @_;
    return $1          if $path =~ m{^src/(base|limit|rules|wire|edge|commands|http|grpc)/};
    return 'cluster'   if $path =~ m{^cluster/};
    return 'command'   if $path =~ m{^src/operator/};
    return 'server'    if $path =~ m{^src/};
    return 'public'    if $path =~ m{^include/};
    return 'tests';
}

1;
