#!/usr/bin/perl
# headgate rules check: without a daemon it says of rule files what a daemon would say, in the same words.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use JSON::PP;
use Test::More;

my $scratch = Headgate::scratch();
$ENV{HEADGATE_AT} = '127.0.0.1:1'; # where nobody listens

sub rules { return Headgate::run(20, Headgate::headgate(), 'rules', @_) }
sub file { my ($name, $text) = @_; return Headgate::write_file("$scratch/$name", $text) }

my $good = file('good.yaml', "rules:\n- {id: a, service: shop, rate: 10/m}\n- {id: b, service: shop, rate: 1/h}\n");

# ---- a good file ----

my ($status, $out, $err) = rules('check', $good);
is("$status$err", '0', 'a good file: 0, though no daemon is there');
is($out, "2 rules are good; with --config it is also checked whether the daemons' shares admit anything\n", 'a word');
is_deeply(decode_json((rules('check', $good, '--json'))[1]), {rules => 2, warnings => 0}, 'for programs');

# ---- usage ----

is((rules('check'))[0], 64, 'no file: 64');
is((rules('check', $good, '--at', '127.0.0.1:7070'))[0], 64, '--at makes no sense: 64');
is((rules('list', '--config', 'x.yaml'))[0], 64, 'nor --config elsewhere');
is((rules('check', "$scratch/none.yaml"))[0], 66, 'a file that is not there: 66');
is((rules('check', $good, '--config', "$scratch/none.yaml"))[0], 66, 'likewise a config');
($status, $out, $err) = rules('check', $good, '--config', file('bad-config.yaml', "node: a\nlimits: 5\n"));
is($status, 78, 'a mistake in the config: 78');
is($err, "headgate rules check: $scratch/bad-config.yaml:2: limits is a single value: expected a list, each entry "
         . "after a dash\n", 'in the words of headgated --check-config');

my $moved = file('moved.yaml', "rules:\n- {id: a, service: shop, rate: 100/m, home: mars}\n");
my $without = file('without.yaml', "node: a\nlimits: [{name: d, capacity: 10, rate: 1/s}]\n");
($status, $out, $err) = rules('check', $moved, '--config', $without);
is($status, 65, 'a home in a region that is gone from the config: 65');
like($err, qr/^headgate rules check: rule shop\/a: home is 'mars', where no daemon is: /, 'it is named');

# ---- what a daemon says ----

my $cluster = Headgate::cluster(regions => ['one', 'two'], limits => [{name => 'd', capacity => 100, rate => '1/s'}],
                                join_timeout => '100ms');
my $daemon = $cluster->daemon('one')->start;
ok(Headgate::wait_until(10, sub { $daemon->log =~ / one is active/ }), 'a daemon of two decides');
my %mistakes = (
    'a field' => "- {id: a, rate: 5}\n",
    'a zone' => "- {id: a, algorithm: quota, limit: 5, window: day, zone: Mars/Olympus}\n",
    'twice the same' => "- {id: a, rate: 5/m}\n- {id: a, rate: 6/m}\n",
    'no token for anybody' => "- {id: a, service: shop, rate: 10/s, burst: 1, overshoot: 0}\n",
    'too many for one endpoint' => join('', map { "- {id: r$_, by: d$_, rate: 100/m}\n" } 1 .. 17),
    'no central store' => "- {id: a, rate: 5/m, sync: central}\n",
    'a circle' => "- {id: a, by: a, rate: 100/m, replaces: [b]}\n- {id: b, by: b, rate: 100/m, replaces: [a]}\n",
    'too many dimensions' => join('', map { "- {id: r$_, by: d$_, endpoint: /$_, rate: 100/m}\n" } 1 .. 33),
);
for my $name (sort keys %mistakes) {
    my $file = file('mistake.yaml', $mistakes{$name});
    my ($told_status, undef, $told) = do {
        local $ENV{HEADGATE_AT} = "127.0.0.1:$daemon->{ports}{clients}";
        rules('apply', $file);
    };
    ($status, $out, $err) = rules('check', $file, '--config', $daemon->{config});
    is($status, 65, "$name: 65");
    is($err =~ s/^headgate rules check: //r, $told =~ s/^headgate rules apply: (ERR )?//r, 'in the words of the daemon')
        if is($told_status, 65, 'as it is for a daemon');
}

# A rule that gets a home: in the words of the daemon.
my $place = file('place.yaml', "{id: place, service: shop, algorithm: concurrency, limit: 1, window: 1m}\n");
($status, $out, $err) = rules('check', $place, '--config', $daemon->{config});
is("$status $out", "0 1 rule is good\n", 'a rule that gets a home is right');
like($err, qr/^headgate rules check: warning: rule shop\/place: home is by_key, since none of 2/, 'with a word');
my $told = do {
    local $ENV{HEADGATE_AT} = "127.0.0.1:$daemon->{ports}{clients}";
    (rules('apply', $place))[2];
};
$told =~ s/ \(and so on for 1 more\)$//m; # the daemon may also say that region two is silent
is($told =~ s/^headgate rules apply: //r, $err =~ s/^headgate rules check: warning: //r, 'that of the daemon');
my $none = file('none.yaml', "{id: place, service: shop, algorithm: concurrency, limit: 1, window: 1m, home: none}\n");
is((rules('check', $none, '--config', $daemon->{config}))[0], 65, 'with home: none it is a mistake');
is((rules('check', $none))[0], 0, 'unless nobody knows how many share a limit');

my $logs = file('logs.yaml', "- {id: a, algorithm: sliding_log, limit: 50, window: 1h}\n"
                             . "- {id: b, algorithm: concurrency, limit: 50, window: 1m}\n");
is(join('', rules('check', $logs, '--config', $daemon->{config})), "02 rules are good\n", 'rules that keep logs');

($status, $out, $err) = rules('check', file('dangling.yaml', "{id: a, rate: 100/m, replaces: [b]}\n"));
is("$status$err", "0headgate rules check: warning: rule default/a replaces b, which is no rule of the service\n",
   'a name that may be in force already is a warning');
($status, $out, $err) = rules('check', file('mistake.yaml', $mistakes{'no token for anybody'}));
is($status, 0, 'without a config nobody knows how many share a limit');
my $uneven = file('uneven.yaml', "node: a\nregion: x\nregions: [{name: x, weight: 0.9}, {name: y, weight: 0.1}]\n"
    . "secret: none\npeers: [{node: b, region: y, gossip: '127.0.0.1:1'}]\n"
    . "limits: [{name: d, capacity: 100, rate: 1/s}]\n");
($status, $out, $err) = rules('check', '--config', $uneven, file('some.yaml', "{id: a, rate: 2/h, overshoot: 2}\n"));
is("$status$err", '0', 'what daemons admit together is no mistake');
$uneven = file('uneven.yaml', Headgate::read_file($uneven) . "grants: false\n");
($status, $out, $err) = rules('check', '--config', $uneven, file('some.yaml', "{id: a, rate: 2/h, overshoot: 2}\n"));
is($status, 0, 'what only some daemons admit is no mistake');
like($err, qr/^headgate rules check: warning: rule default\/a: under rate .* at 1 of 2 daemons only/, 'but a warning');
is($out, "1 rule is good\n", 'on stderr');

# ---- several files, stdin, caps ----

($status, $out, $err) = rules('check', $good, file('more.yaml', "{id: b, service: shop, rate: 5/m}\n"));
is($status, 65, 'the same rule in two files: 65');
like($err, qr{^headgate rules check: \S+/more\.yaml: rule b of service shop is given twice, first in a file before},
     'its name, and the file');
my $narrow = file('narrow.yaml', "node: a\nlimits: [{name: d, capacity: 9, rate: 1/s}]\nrules: {service_rules: 1}\n");
($status, $out, $err) = rules('check', $good, '--config', $narrow);
is($status, 65, "more rules than the config's caps let in: 65");
like($err, qr/shop.*\b1\b/, 'and how many may be') or diag($err);

done_testing();
