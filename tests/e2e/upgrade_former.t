#!/usr/bin/perl
# The last release beside this one: three regions of it go over to this release and back, one daemon after the other,
# with their state. Makefile builds its daemon from the history (former-release), where that is there.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Reconnect;
use Test::More;
use Upgrade;

my $place = "$Headgate::root/build/former";
my ($former) = glob "$place/*/headgated";
plan skip_all => eval { Headgate::read_file("$place/why") } // 'make former-release was not run' if !$former;
my ($version) = $former =~ m{/former/([\d.]+)-};

my $upgrade = Upgrade::begin($former);
my $cluster = $upgrade->{cluster};

sub at { return $cluster->daemon($_[0])->client->command(@_[1 .. $#_]) }
sub version { return $cluster->daemon($_[0])->client->fields('INFO', 'server')->{headgate_version} }

# What is left of a quota of ann, as all daemons see it at last.
my $left = 1000;
sub all_see {
    my ($what) = @_;
    my @seen;
    ok(Headgate::wait_until(20, sub {
        @seen = map { $_->client->command(qw(PEEK user=ann SERVICE shop))->[2] } $upgrade->daemons;
        return 3 == grep { $_ == $left } @seen;
    }), "$what: all daemons count $left left of a quota") or diag("@seen");
    return;
}

sub spend {
    my ($what) = @_;
    for my $name (@Upgrade::names) {
        is(at($name, qw(CHECK user=ann SERVICE shop COST 10))->[0], 1, "$what: $name admits");
        $left -= 10;
    }
    return all_see($what);
}

# A rule of one daemon is in force at the others.
my $changes = 0;
sub change {
    my ($what, $name) = @_;
    my $limit = 5 + ++$changes;
    is(at($name, 'RULE', 'SET', "{id: r, service: shop, by: ip, algorithm: fixed_window, limit: $limit, window: 1h}"),
       'OK', "$what: $name takes a rule");
    my @got;
    ok(Headgate::wait_until(20, sub {
        @got = map { scalar eval { $_->client->command(qw(RULE GET shop r)) } // '' } $upgrade->daemons;
        return 3 == grep { /\blimit: $limit\b/ } map { ref ? join ' ', map { $_ // '' } @$_ : $_ } @got;
    }), "$what: all have it") or diag(explain(\@got));
    return;
}

sub step {
    my ($name, $program, $what) = @_;
    $upgrade->go_over($name, $program, $what);
    all_see("$what, at once");
    spend($what);
    return change($what, $name);
}

$upgrade->check('before');
is(version($_), $version, "$_ is of $version") for @Upgrade::names;
my $quota = '{id: q, service: shop, by: user, algorithm: quota, limit: 1000, window: year}';
is(at('us-east', 'RULE', 'SET', $quota), 'OK', 'a quota');
ok(Headgate::wait_until(20, sub {
    my @seen = map { eval { $_->client->command(qw(PEEK user=ann SERVICE shop))->[2] } // 0 } $upgrade->daemons;
    return 3 == grep { $_ == $left } @seen;
}), 'which all have');
spend('before');
step($Upgrade::names[0], undef, 'upgraded 1 of 3');

# Limits of the config change by a reload beside the former release as well.
sub reload {
    my ($name, $overshoot) = @_;
    my $daemon = $cluster->daemon($name);
    $daemon->{settings}{limits} = [map { {%$_, overshoot => $overshoot} } @{$daemon->{settings}{limits}}];
    $daemon->write_config;
    return {@{at($name, 'RELOAD')}};
}
sub overshoots {
    return join ' ', map { $_->client->fields('INFO', 'limits')->{limit_default} =~ /overshoot=(\d+)/ } @_;
}
sub limits_change {
    my ($what) = @_;
    for my $overshoot (7, 0) {
        is_deeply(reload('us-east', $overshoot)->{changed}, ['limits'], "$what: a reload takes $overshoot");
        my $all = join ' ', ($overshoot) x 3;
        ok(Headgate::wait_until(20, sub { overshoots($upgrade->daemons) eq $all }), 'at all of them');
    }
    return;
}
limits_change('beside it');
step($Upgrade::names[$_], undef, 'upgraded ' . ($_ + 1) . ' of 3') for 1 .. 2;
limits_change('without it');
step($Upgrade::names[$_], $former, 'downgraded ' . ($_ + 1) . ' of 3') for 0 .. 2;
is(version($_), $version, "$_ is of $version again") for @Upgrade::names;
$upgrade->finish;

# ---- sockets of a service manager ----

my $one = Headgate::cluster(regions => ['here'])->daemon('here');
sub go_over {
    my ($program) = @_;
    is($one->stop(20), 0, 'a daemon leaves');
    $one->{program} = $program;
    return $one->start(20);
}
@Headgate::handed = (Reconnect::listener($one->{ports}{clients}));
$one->{program} = $former;
$one->start;
my ($refused, $answered, $cut) = Reconnect::through($one, sub { go_over(undef) }, sub { go_over($former) });
is($refused, 0, 'over to this release and back no connection is refused');
cmp_ok($answered, '>', 300, "under load: $answered requests were answered, $cut cut off");
is($one->client->fields('INFO', 'server')->{headgate_version}, $version, 'it is of the former release again');

# A log that is kept: this release writes down as well when its tokens end, which the former one does not know.
my $log = '{id: log, service: shop, by: user, algorithm: sliding_log, limit: 1000, window: 1h, persist: true}';
is($one->client->command('RULE', 'SET', $log), 'OK', 'a sliding log that is kept');
$left = 1000;
for my $next (undef, $former, undef) {
    for (1 .. 2) {
        is($one->client->command(qw(CHECK user=ann SERVICE shop COST 10))->[0], 1, 'ten are spent of it');
        $left -= 10;
    }
    go_over($next);
    is($one->client->command(qw(PEEK user=ann SERVICE shop))->[2], $left, "the next daemon knows that $left are left");
}

done_testing();
