#!/usr/bin/perl
# A link that loses packets gets spare connections, over which each message comes as well; a good link has none, and
# neither has one that has become good. Between network namespaces (tests/wan).
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin, "$FindBin::Bin/../wan";
use Test::More;
use Wan;

my @regions = ('us', 'eu', 'ap');
my %asked = (capacity => 100, rate => 100);
# A look each five intervals, and 64 good ones for a good link.
my %limit = (name => 'default', capacity => 100, rate => '100/s', default => 'true', overshoot => '0%');

# A look each ten intervals.
my ($wan, $rounds, $worst);
sub begin {
    my (%options) = @_;
    $wan = Wan::world(regions => \@regions, interval => '20ms', limits => [\%limit], %options) or return;
    ($rounds, $worst) = (0, -1000);
    $wan->links(delay_ms => 20);
    return $wan->start;
}

sub of {
    my ($region, $what) = @_;
    my ($number) = $wan->headgate($region, 'info', 'transport') =~ /^transport_$what\W+(\d+)/m;
    return $number // 0;
}

# Asks until the condition holds.
sub ask_until {
    my ($most, $condition) = @_;
    for (1 .. $most) {
        my $judged = $wan->ask(%asked, key => 'round ' . ++$rounds, seconds => 2, asks => {map { $_ => 67 } @regions});
        $worst = $judged->{excess} if $judged->{excess} > $worst;
        return 1 if $condition->();
    }
    return 0;
}

sub spares { return join ' ', map { of($_, 'spare_connections') } @regions }
sub lose { my ($part) = @_; $wan->link(@$_, delay_ms => 20, loss => $part) for ['us', 'ap'], ['ap', 'us']; return }

sub becomes_bad {
    lose(0.08);
    ok(ask_until(20, sub { spares() eq '2 0 2' }), 'the two at a link that loses packets have two more each')
        or diag spares();
    my $copies = of('us', 'copies');
    ok(ask_until(10, sub { of('us', 'copies') > $copies + 50 }), 'which bring the same, and it is not read again');
    is(of('eu', 'spares_opened'), 0, 'the links of the third region stay as they are');
    return;
}

sub becomes_good {
    lose(0);
    ok(ask_until(20, sub { spares() eq '0 0 0' }), 'when the link is good again, they go') or diag spares();
    is(of($_, 'connections_stuck'), 0, "and nothing of them is left at $_") for @regions;
    cmp_ok($worst, '<=', 1e-6, 'in all that time no more than one bucket admits');
    ok($wan->stop, 'all end in peace');
    return;
}

begin() or plan skip_all => $Wan::why;
ok(ask_until(10, sub { of('us', 'received_messages') > 500 }), 'three regions speak to each other');
is(spares(), '0 0 0', 'over one connection each, as nothing is lost');
is(of('us', 'copies'), 0, 'and hear nothing twice');
becomes_bad();
becomes_good();

# Over TLS, nng's own connections end in the daemon: those that count are others.
my $dir = Headgate::scratch() . '/certs';
my %node;
for my $region (@regions) {
    my ($status, undef, $err) = Headgate::run(10, Headgate::headgate(), 'certs', '--dir', $dir, $region);
    die $err if $status != 0;
    my %files = (ca => "$dir/ca.pem", certificate => "$dir/$region.pem", key => "$dir/$region.key");
    $node{$region}{peers_tls} = \%files;
}
ok(begin(nodes => \%node), 'the same over TLS');
becomes_bad();
becomes_good();

done_testing;
