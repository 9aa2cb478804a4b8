# What a key that was counted under one version of a rule starts with under the next: the table in docs/rules.md.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Test::More;

my $cluster = Headgate::cluster(regions => ['here']);
$cluster->start;
$cluster->wait_met or die 'the daemon did not become active';
my $client = $cluster->daemon('here')->client;

my %forms = (
    token_bucket => sub { "algorithm: token_bucket\nrate: $_[0]/h\n" },
    fixed_window => sub { "algorithm: fixed_window\nlimit: $_[0]\nwindow: 366d\n" },
    sliding_window => sub { "algorithm: sliding_window\nlimit: $_[0]\nwindow: 366d\n" },
    quota => sub { "algorithm: quota\nlimit: $_[0]\nwindow: year\n" },
    sliding_log => sub { "algorithm: sliding_log\nlimit: $_[0]\nwindow: 1h\n" },
);

sub set_rule {
    my ($service, $amount, $inherit) = @_;
    my $yaml = "id: r\nservice: $service\n$amount" . ($inherit ? "inherit: $inherit\n" : '');
    my $reply = $client->command('RULE', 'SET', $yaml);
    die "$reply" if $reply ne 'OK';
    return;
}
sub used_up {
    my ($service) = @_;
    my $reply = $client->command('CHECK', 'user=alice', 'SERVICE', $service, 'COST', 80);
    die "not allowed: @$reply" if !$reply->[0];
    return;
}
sub left { return $client->command('PEEK', 'user=alice', 'SERVICE', $_[0])->[2] }

# what is left of 100 - 80, by choice and new limit
my %left = (
    keep => {200 => 120, 50 => 0},
    proportional => {200 => 40, 50 => 10},
    reset => {200 => 200, 50 => 50},
);
for my $form (sort keys %forms) {
    for my $choice (sort keys %left) {
        for my $limit (sort keys %{$left{$choice}}) {
            my $service = "$form-$choice-$limit";
            set_rule($service, $forms{$form}->(100));
            used_up($service);
            set_rule($service, $forms{$form}->($limit), $choice);
            is(left($service), $left{$choice}{$limit}, "$form, $choice: 80 used of 100, then $limit");
        }
    }
}

# Changed without `inherit`, and back: what is used stays used.
set_rule('back', $forms{token_bucket}->(100));
used_up('back');
set_rule('back', $forms{token_bucket}->(1000));
is(left('back'), 920, 'kept in a larger bucket');
set_rule('back', $forms{token_bucket}->(100));
is(left('back'), 20, 'and in the old one again');

# Another algorithm: those that keep one state for a key go on with it, windows have keys of their own.
set_rule('other', $forms{token_bucket}->(100));
used_up('other');
set_rule('other', $forms{sliding_log}->(100));
is(left('other'), 20, 'a bucket that becomes a log keeps what is used');
set_rule('other', $forms{fixed_window}->(100));
is(left('other'), 100, 'a window begins anew');
set_rule('other', $forms{token_bucket}->(100));
is(left('other'), 20, 'and what was used before is there again with the former algorithm');

# An amount of another tier, an override: the same key.
set_rule('tiers', $forms{token_bucket}->(100) . "tiers: {pro: 500/h}\n");
used_up('tiers');
is($client->command('PEEK', 'user=alice', 'SERVICE', 'tiers', 'TIER', 'pro')->[2], 420, 'a tier shares the key');
set_rule('tiers', $forms{token_bucket}->(100) . "overrides: [{for: user=alice, amount: 1000/h}]\n");
is(left('tiers'), 920, 'so does an override');

# Off and on again.
set_rule('off', $forms{token_bucket}->(100));
used_up('off');
set_rule('off', $forms{token_bucket}->(100) . "mode: \"off\"\n");
is($client->command('PEEK', 'user=alice', 'SERVICE', 'off')->[1], -1, 'off: nothing limits');
set_rule('off', $forms{token_bucket}->(100));
is(left('off'), 20, 'on again: what was used is still used');

ok($cluster->stop, 'it ends well');
done_testing();
