#!/usr/bin/perl
# The house's rules about its own source, one test for each rule. A rule brings a plant, a few lines that
# break it: the rule must find fault with its plant before it is believed about the rest.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Source;
use Test::More;

my $ours = qr{^(?:src|cluster|include)/.*\.[ch]$};

# ---- directions ----

my %may_include = (
    base    => [qw(base)],
    limit   => [qw(limit base public)],
    rules   => [qw(rules limit base)],
    wire    => [qw(wire base)],
    cluster => [qw(cluster rules limit base)],
    edge    => [qw(edge wire rules limit base public)],
    commands => [qw(commands edge cluster wire rules limit base public)],
    http    => [qw(http commands edge cluster wire rules limit base)],
    grpc    => [qw(grpc http commands edge cluster wire rules limit base)],
    server  => [qw(server grpc http commands edge cluster wire rules limit base public)],
    command => [qw(command commands server edge cluster wire rules limit base public)],
    public  => [qw(public)],
    tests   => [qw(tests command server grpc http commands edge cluster wire rules limit base public)],
);
# What reaches the world outside the process. The composition root starts the loop and reads arguments.
my $world = qr{^(?:uv|time|unistd|fcntl|poll|netdb|termios|signal)\.h$|^(?:nng|sys|netinet|arpa)/};
my $worldly = qr{^(?:src/edge/|src/main\.c$|src/operator/|tests/|docs/examples/)};
my $codec = qr{^(?:src/wire/|cluster/codec/|tests/)};

# The room of a quoted header, as written after -Isrc -Iinclude -I. or next to the includer.
sub room_of_header {
    my ($header, $includer) = @_;
    return 'public'  if $header =~ m{^headgate/};
    return 'grpc'    if $header =~ m{\.pb-c\.h$}; # made of src/grpc/proto
    return $1        if $header =~ m{^(base|limit|rules|wire|edge|commands|http|grpc|cluster|tests)/};
    return 'command' if $header =~ m{^operator/};
    return Source::room($includer) eq 'tests' ? 'tests' : 'server';
}

sub includes {
    my ($file) = @_;
    my @found;
    for my $i (0 .. $#{$file->{code}}) {
        push @found, [$i + 1, $1, $2] if $file->{code}[$i] =~ /^\s*#\s*include\s*([<"])([^>"]+)[>"]/;
    }
    return @found;
}

sub direction {
    my ($file) = @_;
    my $room = Source::room($file->{path});
    my @faults;
    for (includes($file)) {
        my ($line, $quote, $header) = @$_;
        next if $quote eq '<';
        my $to = room_of_header($header, $file->{path});
        next if grep { $_ eq $to } @{$may_include{$room}};
        next if $room eq 'edge' && $header eq 'cluster/node.h';
        push @faults, "$line: $room must not include $header";
    }
    return @faults;
}

sub includes_only_where {
    my ($banned, $where) = @_;
    return sub {
        my ($file) = @_;
        return () if $file->{path} =~ $where;
        return map { "$_->[0]: <$_->[2]> does not belong here" } grep { $_->[2] =~ $banned } includes($file);
    };
}

# Which shows that a header needs nothing before it.
sub own_header_first {
    my ($file) = @_;
    my ($own) = $file->{path} =~ m{(\w+)\.c$} or return ();
    my @includes = includes($file);
    my @at = grep { $includes[$_][2] =~ m{^(?:.*/)?\Q$own\E\.h$} } 0 .. $#includes;
    return !@at || $at[0] == 0 ? () : "$includes[$at[0]][0]: $includes[$at[0]][2] is expected to be the first include";
}

# ---- calls ----

# Calls of `names` (a regex of identifiers followed by a bracket).
sub calls {
    my ($names, $except) = @_;
    return sub {
        my ($file) = @_;
        return () if defined $except && $file->{path} =~ $except;
        my @faults;
        for my $i (0 .. $#{$file->{code}}) {
            push @faults, $i + 1 . ": calls $1" if $file->{code}[$i] =~ /(?<![\w.>])($names)\s*\(/;
        }
        return @faults;
    };
}

my $clock = qr/clock_gettime|clock|time|gettimeofday|uv_hrtime|uv_gettimeofday|uv_clock_gettime|nng_clock/;
my $chance = qr/[dlmjn]?rand48|rand|rand_r|srand|random|srandom|getrandom|arc4random\w*|nng_random/;
my $careless = qr/v?sprintf|strcpy|strcat|strncpy|strncat|stpcpy|gets|strtok|ato[ifl]|atoll|alloca|system|popen/;
my $allocation = qr/malloc|calloc|realloc|reallocarray|free|strdup|strndup|aligned_alloc|posix_memalign|v?asprintf/;

# Others ask a kind for its properties (src/limit/kind.h); these make terms of a kind, print them, or keep them on disk.
my $algorithms = join '|', Source::load('src/rules/algorithm.h')->{text} =~ /X\(RULE_(\w+),/g;
my $names_kinds = qr{^src/(?:limit/|(?:commands/(?:explain|guest|throttle)|persist_counter)\.c$|rules/algorithm\.h$)};

# Files whose every function may run for a request.
my $request_path = qr{^src/base/(?:bytes|error|hash|list|random)\.|^src/limit/(?:bucket|charge|key|limit|verdict)\.
    |^src/rules/match\.|^src/wire/(?:resp|request|reply|command|output)\.
    |^src/edge/clients/(?:connection(?:_input|_output|_turn)?|listener_turns|stream)\.
    |^src/http/(?!create\.|rule_(?:change|plan)\.)
    |^src/grpc/(?!create\.)
    |^src/commands/(?:pending|late|shapes|match)\.|^cluster/spend/(?:decide|decide_full|key_view|record|deferred)\.}x;

# ---- shape ----

sub function_length {
    my ($file) = @_;
    my ($start, @faults);
    for my $i (0 .. $#{$file->{code}}) {
        my $line = $file->{code}[$i];
        $start = $i if $line =~ /^\{\s*$/;
        if (defined $start && $line =~ /^\}/) {
            my $length = $i - $start - 1;
            push @faults, $start + 1 . ": the function has $length lines" if $length > 70;
            undef $start;
        }
    }
    return @faults;
}

sub left_of_merges {
    my ($file) = @_;
    my @lines = @{$file->{lines}};
    return map { $_ + 1 . ': left of a merge' } grep { $lines[$_] =~ /^(?:<{7}|>{7}) / } 0 .. $#lines;
}

sub whitespace {
    my ($file) = @_;
    return () if $file->{path} =~ /(?:^|\/)Makefile$|^config\/debian\/rules$|\.go$/;
    my @faults;
    for my $i (0 .. $#{$file->{lines}}) {
        my $line = $file->{lines}[$i];
        push @faults, $i + 1 . ': a tab' if $line =~ /\t/;
        push @faults, $i + 1 . ': space at the end of the line' if $line =~ /[ \r]$/;
    }
    push @faults, scalar(@{$file->{lines}}) . ': no newline at the end' if $file->{text} =~ /[^\n]\z/;
    push @faults, scalar(@{$file->{lines}}) . ': empty lines at the end' if $file->{text} =~ /\n\n\z/;
    return @faults;
}

sub line_length {
    my ($file) = @_;
    my @lines = @{$file->{lines}};
    my @faults;
    for my $i (0 .. $#lines) {
        utf8::decode(my $text = $lines[$i]);
        push @faults, $i + 1 . ': ' . length($text) . ' columns' if length $text > 120;
    }
    return @faults;
}

my ($file_lines_wanted, $file_lines_most) = (400, 600);
sub file_length {
    my ($file) = @_;
    my $count = @{$file->{lines}};
    diag("$file->{path} has $count lines, $file_lines_wanted are wanted")
        if $count > $file_lines_wanted && $count <= $file_lines_most;
    return $count > $file_lines_most ? "$count: more than $file_lines_most lines" : ();
}

# ---- headers ----

sub guard {
    my ($file) = @_;
    (my $name = $file->{path}) =~ s{^(?:src|include/headgate)/}{};
    $name =~ s/\W/_/g;
    $name = 'HEADGATE_' . uc $name;
    return $file->{text} =~ /\n#ifndef \Q$name\E\n#define \Q$name\E\n/ && $file->{text} =~ /\n#endif\s*\z/
        ? () : "1: the guard is expected to be $name";
}

sub opening {
    my ($file) = @_;
    my ($name) = $file->{path} =~ m{(\w+)\.h$};
    my ($comment) = $file->{text} =~ m{\A/\*\n(.*?)\n \*/\n}s;
    return "1: no comment opens the header" if !defined $comment;
    my $lines = () = $comment =~ /^/mg;
    my @faults;
    push @faults, "1: the opening comment is expected to begin with \"$name: \"" if $comment !~ /\A \* \Q$name\E: /;
    push @faults, "1: the opening comment has $lines lines, 1 to 12 are expected" if $lines > 12;
    return @faults;
}

# Sources of the cluster say in a few lines what they are for, what the idea is, what they leave to others.
sub opening_of_source {
    my ($file) = @_;
    my ($comment) = $file->{text} =~ m{\A/\*\n(.*?)\n \*/\n}s or return '1: no comment opens the source';
    my $lines = () = $comment =~ /^/mg;
    return $lines >= 2 && $lines <= 16 ? () : "1: the opening comment has $lines lines, 2 to 16 are expected";
}

# In public headers: a comment right above each function, and above a struct or next to its first member.
sub documented {
    my ($file) = @_;
    my @faults;
    for my $i (0 .. $#{$file->{lines}}) {
        my $code = $file->{code}[$i] // '';
        next if $code !~ /^(?:(?:const |unsigned )*\w+ \**(?:\w+ \**)?(\w+)\(|struct (\w+) \{$)/;
        my ($name, $function) = ($1 // $2, defined $1);
        push @faults, $i + 1 . ": \"$name\" is expected to begin with headgate_" if $name !~ /^headgate_/;
        next if $i > 0 && $file->{lines}[$i - 1] =~ m{\*/\s*$};
        next if !$function && ($file->{lines}[$i + 1] // '') =~ m{/\*};
        push @faults, $i + 1 . ": nothing says what $name is";
    }
    return @faults;
}

# ---- style of C ----

sub pattern {
    my ($regex, $says, $from) = @_;
    return sub {
        my ($file) = @_;
        my $lines = $file->{$from // 'code'};
        return map { $lines->[$_] =~ $regex ? $_ + 1 . ": $says" : () } 0 .. $#$lines;
    };
}

# A switch whose cases are named constants is over an enum: -Wswitch-enum keeps it complete, default would hide.
sub default_over_enum {
    my ($file) = @_;
    my (@open, @faults);
    for my $i (0 .. $#{$file->{code}}) {
        my $line = $file->{code}[$i];
        my ($indent) = $line =~ /^(\s*)/;
        pop @open while @open && length $indent <= $open[-1]{indent} && $line =~ /^\s*\}/;
        push @open, {indent => length $indent, enum => 0} if $line =~ /\bswitch\s*\(/;
        next if !@open;
        $open[-1]{enum} = 1 if $line =~ /\bcase\s+[A-Z][A-Z0-9]*_[A-Z0-9_]*\s*:/;
        push @faults, $i + 1 . ': default in a switch over an enum' if $line =~ /\bdefault\s*:/ && $open[-1]{enum};
    }
    return @faults;
}

# A variable of a module forbids two instances in one process.
my $module_state = pattern(qr/
    ^(?:static\s+)?(?!static\b|const\b|struct\s\w+;|typedef\b|extern\b|enum\b)(?!.*\bconst\b)
    [a-z]\w*(?:\s+\w+)*[\s*]+\w+(?:\[[^\]]*\])*\s*(?:=.*|;)\s*$/x, 'a variable of the whole module');

# ---- words, tests ----

my $words = join '|', 'TO' . 'DO', 'FIX' . 'ME', 'X' x 3 . '\b';
my $machine = join '|', map { "(?<![\\w./-])/$_/" } 'ho' . 'me', 'wo' . 'rk', 'ro' . 'ot';

# A comment or a page that names a file of ours names one that is there, by the end of its path.
my %names;
for my $path (Source::paths()) {
    my @parts = split m{/}, $path;
    $names{join '/', @parts[$_ .. $#parts]} = 1 for 0 .. $#parts;
}
my $named = qr{(?<![\w./-])((?:\w+/)*[a-z]\w+\.[ch])\b(?!\w|[\[(]|\.\w)};

sub names_files {
    my ($file) = @_;
    my @faults;
    for my $i (0 .. $#{$file->{lines}}) {
        my $line = $file->{lines}[$i];
        next if $line =~ /^\s*#/; # of the compiler's own
        push @faults, map { $i + 1 . ": there is no $_" }
            grep { !$names{$_} && !/^(?:$world|msgpack\.h)$/ } $line =~ /$named/g;
    }
    return @faults;
}

# What a planted bug replaces is there, once: it applies as it was meant.
sub has_its_place {
    my ($file) = @_;
    my ($in, $in_hunk, @old, @faults) = ('', 0);
    my $look = sub {
        my $old = join '', map { "$_\n" } splice @old;
        my $count = () = $in =~ /^\Q$old\E/gm;
        push @faults, "$_[0]: the hunk before it fits $count places" if $old ne '' && $count != 1;
    };
    for my $number (1 .. @{$file->{lines}}) {
        my $line = $file->{lines}[$number - 1];
        $look->($number) if $line =~ /^(?:---|@@) /;
        $in = -f "$Source::root/$1" ? Source::load($1)->{text} : '' if $line =~ m{^--- a/(\S+)};
        $in_hunk = $1 eq '@@' if $line =~ /^(---|@@) /;
        push @old, $1 // '' if $in_hunk && $line =~ /^(?:[- ](?!-- a)(.*))?$/;
    }
    $look->(scalar @{$file->{lines}});
    return @faults;
}

# tests/unit/<room>/<what>.c tests <room's directory>/<what>, or the longest beginning of <what> that exists.
sub has_module {
    my ($file) = @_;
    my ($room, $what) = $file->{path} =~ m{^tests/unit/([a-z]+)/(\w+)\.c$} or return '1: expected <room>/<what>.c';
    my @folders = map { s{^\Q$Source::root/\E}{}r } glob "$Source::root/cluster/*/";
    my %elsewhere = (cluster => ['cluster', @folders], server => ['src', 'src/commands'], served => ['src/commands'],
                     http => ['src/http'], grpc => ['src/grpc'],
                     sim => ['tests/sim']);
    my @directories = map { ($_, map { m{^\Q$Source::root\E/(.*)/$} } glob "$Source::root/$_/*/") }
        @{$elsewhere{$room} // ["src/$room"]};
    my @parts = split /_/, $what;
    while (@parts) {
        my $module = join '_', @parts;
        return () if grep { -e "$Source::root/$_/$module.c" || -e "$Source::root/$_/$module.h" } @directories;
        pop @parts;
    }
    return "1: there is no $directories[0]/$what";
}

# ---- the list ----

my $c = qr/\.[ch]$/;
my @rules = (
    ['includes go one way', $c, \&direction,
        'src/limit/x.c', qq{#include "cluster/node.h"\n}],
    ['edge sees of the cluster only node.h', qr{^src/edge/}, \&direction,
        'src/edge/x.c', qq{#include "cluster/log.h"\n}],
    ['only the edge touches the world', $c, includes_only_where($world, $worldly),
        'cluster/x.c', "#include <uv.h>\n"],
    ['only codecs include msgpack', $c, includes_only_where(qr/^msgpack/, $codec),
        'src/edge/x.c', "#include <msgpack.h>\n"],
    ['only http includes llhttp and jansson', $c,
        includes_only_where(qr/^(?:llhttp|jansson)\./, qr{^(?:src/http/|tests/)}),
        'src/commands/x.c', "#include <jansson.h>\n"],
    ['only grpc includes nghttp2 and protobuf-c', $c,
        includes_only_where(qr/^(?:nghttp2|protobuf-c)\//, qr{^(?:src/grpc/|tests/)}),
        'src/http/x.c', "#include <nghttp2/nghttp2.h>\n"],
    ['one file reads YAML, and one writes it', $c,
        includes_only_where(qr/^c?yaml/, qr{^src/(?:base/yaml_tree|edge/settings/settings_print)\.c$}),
        'src/rules/x.c', "#include <yaml.h>\n"],
    ['a source includes its own header first', $ours, \&own_header_first,
        'src/base/hash.c', qq{#include <stdio.h>\n#include "base/hash.h"\n}],
    ['only base/prefetch.h prefetches', $ours, calls(qr/__builtin_prefetch/, qr{^src/base/prefetch\.h$}),
        'cluster/x.c', "__builtin_prefetch(a);\n"],
    ['only edge/process/clock.c reads a clock', $ours, calls($clock, qr{^src/edge/process/clock\.c$}),
        'src/edge/x.c', "a = time(NULL);\n"],
    ['only base/random.c draws', $ours, calls($chance, qr{^src/base/random\.c$}),
        'cluster/x.c', "a = rand();\n"],
    ['no careless library calls', $c, calls($careless),
        'src/x.c', "    sprintf(a, b);\n"],
    ['no allocation on the request path', $request_path, calls($allocation),
        'src/limit/bucket.c', "p = malloc(1);\n"],
    ['functions have at most 70 lines', $c, \&function_length,
        'src/x.c', "{\n" . "    a();\n" x 71 . "}\n"],
    ['lines have at most 120 columns', qr/\.(?:[chty]|pm|sh|pl)$/, \&line_length,
        'src/x.c', '/' x 121 . "\n"],
    ['no tabs, no trailing space, one final newline', qr{^(?!tests/fuzz/corpus/)}, \&whitespace,
        'src/x.c', "a; \n"],
    ['nothing is left of a merge', qr/./, \&left_of_merges,
        'docs/x.md', '<' x 7 . " HEAD\n"],
    ["files have at most $file_lines_most lines", $c, \&file_length,
        'src/x.c', "a;\n" x 601],
    ['guards are named after their headers', qr/\.h$/, \&guard,
        'src/base/x.h', "/*\n */\n#ifndef X_H\n#define X_H\n#endif\n"],
    ['a comment opens every header', qr/\.h$/, \&opening,
        'src/base/x.h', "#ifndef A\n"],
    ['a comment opens every source of the cluster', qr{^cluster/.*\.c$}, \&opening_of_source,
        'cluster/log/x.c', qq{#include "cluster/log/x.h"\n}],
    ['what is public is explained', qr{^include/headgate/}, \&documented,
        'include/headgate/x.h', "\nint headgate_x(int a);\n"],
    ['no typedef of a struct, union or enum', $c, pattern(qr/\btypedef\s+(?:struct|union|enum)\b/, 'a typedef'),
        'src/x.h', "typedef struct x x;\n"],
    ['kinds of state are asked by property', qr{^(?:src|cluster)/(?!limit/).*\.[ch]$},
        sub { $_[0]{path} =~ $names_kinds ? () : pattern(qr/\bLIMIT_(?:BUCKET|CELL|LOG)\b/, 'names a kind')->(@_) },
        'cluster/log/x.c', "if (limit->kind == LIMIT_LOG)\n"],
    ['algorithms are asked by property', qr{^src/(?!rules/algorithm\.h).*\.[ch]$},
        pattern(qr/\bRULE_(?:$algorithms)\b/, 'names an algorithm'),
        'src/rules/x.c', "if (rule->algorithm == RULE_QUOTA)\n"],
    ['no default in a switch over an enum', $c, \&default_over_enum,
        'src/x.c', "    switch (a) {\n    case A_B:\n        break;\n    default:\n        break;\n    }\n"],
    ['suffixes of literals are no l, which looks like 1', $ours,
        pattern(qr/(?<![\w.])(?:0[xX][\da-fA-F]+|\d[\d.]*)ll?[uU]?\b/, 'a literal with an l'),
        'src/x.c', "a = 1l;\n"],
    ['no state of a whole module', qr{^(?:src|cluster)/.*\.[ch]$}, $module_state,
        'src/base/x.c', "static int count = 0;\n"],
    ['asserts are never switched off', qr{\.[ch]$|Makefile$}, pattern(qr/\bNDEBUG\b/, 'mentions it', 'lines'),
        'src/x.c', "#define NDEBUG\n"],
    ['names are of ASCII', $c, pattern(qr/[^\x00-\x7f]/, 'another letter'),
        'src/x.c', "int \xd7\x90;\n"],
    ['comments are /* */', $c, pattern(qr{^(?:[^"]|"(?:[^"\\]|\\.)*")*?(?<!:)//}, 'a line comment', 'lines'),
        'src/x.c', "// a\n"],
    ['nothing is left to do', qr/./, pattern(qr/\b(?:$words)/, 'names unfinished work', 'lines'),
        'src/x.c', '/* TO' . "DO */\n"],
    ['no path of somebody\'s machine', qr/./, pattern(qr/$machine/, 'a path of a machine', 'lines'),
        'docs/x.md', 'see /ho' . "me/me\n"],
    ['tests do not sleep to wait', qr{^tests/(?!tidy/).*\.(?:t|sh)$}, pattern(qr/\bsleep[ (]+[1-9]/, 'sleeps', 'lines'),
        'tests/e2e/x.t', "sleep 1;\n"],
    ['a planted bug has its place', qr{^tests/(?:sim/canary|e2e/peers)/.*\.patch$}, \&has_its_place,
        'tests/sim/canary/x.patch', "--- a/README.md\n+++ b/README.md\n@@ -1,1 +1,1 @@\n-No such line\n+Another\n"],
    ['files that are named are there', qr{^(?:src|cluster|include|tests)/.*\.[ch]$|^docs/\w+\.md$|^README\.md$},
        \&names_files, 'src/base/x.h', "/* As no_such_file.c does. */\n"],
    ['a unit test is named after its module', qr{^tests/unit/}, \&has_module,
        'tests/unit/base/nothing.c', "\n"],
);

my @files = map { Source::load($_) } Source::paths();
my %seen;
for (@rules) {
    my ($name, $where, $check, $plant_path, $plant) = @$_;
    my @faults;
    for my $file (grep { $_->{path} =~ $where } @files) {
        push @faults, map { "$file->{path}:$_" } $check->($file);
    }
    my $caught = $plant_path =~ $where && $check->(Source::file($plant_path, $plant));
    diag("the rule does not see its plant") if !$caught;
    ok($caught && !@faults, $name);
    diag(join "\n", @faults) if @faults;
}

# Not a rule: what a reader of the tree may want to know.
my %tested = map { m{^tests/unit/([a-z]+)/(\w+)\.c$} ? ("$1_$2" => 1) : () } Source::paths();
my @untested = grep { !$tested{$_} } map { m{^(?:src/)?(?!src/|tests/|docs/)(\w+)/(?:\w+/)?(\w+)\.c$} ? "$1_$2" : () }
    Source::paths();
note("without a unit test of their name: @untested") if @untested;
done_testing();
