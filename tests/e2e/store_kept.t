#!/usr/bin/perl
# What was acknowledged is on the disk: kill -9 right behind the answer loses nothing.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Test::More;
use Time::HiRes qw(time);

my $rounds = $ENV{HEADGATE_ROUNDS} // 40;
my %verbs = (
    'RULE SET'      => sub { [qw(RULE SET), "{id: rule, service: shop, rate: $_[0]/s}"] },
    'RULE APPLY'    => sub { [qw(RULE APPLY), "{id: rule, service: shop, rate: $_[0]/s}", 'NOTE', "round $_[0]"] },
    'RULE CANARY'   => sub { [qw(RULE APPLY), "{id: rule, service: shop, rate: $_[0]/s}", qw(CANARY 10% WATCH 60s)] },
    'RULE DEL'      => sub { [qw(RULE DEL shop rule)] },
    'RULE ROLLBACK' => sub { [qw(RULE ROLLBACK shop rule)] },
);

# The newest version of the rule, as a hash.
sub newest {
    my ($daemon) = @_;
    return {@{$daemon->client->command(qw(RULE HISTORY shop rule))->[0] // []}};
}

for my $threads (1, 2) {
    my $daemon = Headgate::cluster(regions => ['here'], interval => '50ms', threads => $threads)->daemon('here');
    my %lost = map { $_ => 0 } keys %verbs;
    my ($refused, $number) = (0, 100);
    for my $round (1 .. $rounds / 2) {
        my $verb = (sort keys %verbs)[$round % keys %verbs];
        $daemon->start;
        my $client = $daemon->client;
        $client->command(@{$verbs{'RULE SET'}->($number++)}) for 1 .. 2;
        my $reply = $client->command(@{$verbs{$verb}->($number++)});
        kill 'KILL', $daemon->{pid};
        $refused++ if ref $reply eq 'Headgate::Error';
        $daemon->wait_end(10);
        $daemon->start;
        my $newest = newest($daemon);
        my $there = $verb eq 'RULE DEL'      ? $newest->{deleted}
                  : $verb eq 'RULE ROLLBACK' ? $newest->{note} =~ /^rollback/
                                             : $newest->{text} =~ /rate: @{[$number - 1]}/;
        $lost{$verb}++ if !$there;
        note("$verb: the newest is $newest->{text}, $newest->{note}") if !$there;
        $daemon->kill9;
    }
    is($refused, 0, "threads: $threads: all was acknowledged");
    is($lost{$_}, 0, "kill -9 right behind the answer to $_ loses nothing") for sort keys %verbs;
}

done_testing();
