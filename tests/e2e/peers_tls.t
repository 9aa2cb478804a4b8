#!/usr/bin/perl
# Peers that speak TLS: three regions from the config that docs/security.md prints, what goes over the wire, who is
# refused and how the log says so, and certificates that change while the daemons run.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Http;
use IO::Select;
use Test::More;

my $dir = Headgate::scratch() . '/certs';
my @regions = qw(us-east eu-west ap-south);
mkdir $dir or die $!;
sub certs {
    my ($in, @words) = @_;
    my ($status, undef, $err) = Headgate::run(10, Headgate::headgate(), 'certs', '--dir', "$dir/$in", @words);
    die $err if $status != 0;
    return;
}
certs('ours', $_) for @regions, 'mallory';
certs('next', '--days', 7, $_) for @regions;
Headgate::write_file("$dir/both.pem", join '', map { Headgate::read_file("$dir/$_/ca.pem") } qw(ours next));

# What the document prints, with the files of a directory here.
my ($printed) = Headgate::read_file("$Headgate::root/docs/security.md") =~ /^```yaml\n(peers_tls:\n(?: .*\n)+)```/m
    or die 'docs/security.md prints no peers_tls';
sub tls {
    my ($in, $region) = @_;
    my %file = map { /^  (\w+): (\S+)/ ? ($1 => $2) : () } split /\n/, $printed;
    s{^/etc/headgate/peers/us-east\b}{$dir/$in/$region} || s{^/etc/headgate/peers/}{$dir/$in/} or die $_
        for values %file;
    return \%file;
}
sub all_of { my ($in) = @_; return map { $_ => tls($in, $_) } @regions }
is_deeply([sort keys %{tls('ours', 'us-east')}], [qw(ca certificate key)], 'the document names three files');

sub cluster_of {
    my (%tls) = @_;
    return Headgate::cluster(interval => '50ms', leave_timeout => '200ms', silent_after => '500ms',
                             join_timeout => '1s', listen_http => 1,
                             nodes => {map { $_ => {peers_tls => $tls{$_}} } keys %tls});
}
sub logs { return map { "$_->{name}:\n" . $_->log } @_ }
sub says {
    my ($daemon, $sentence, $name) = @_;
    ok(Headgate::wait_until(15, sub { $daemon->log =~ $sentence }), $name) or diag logs($daemon);
    return;
}
sub met { my ($cluster, $name) = @_; return ok($cluster->wait_met(20), $name) || diag logs($cluster->daemons) }
sub stat_of { my ($daemon, $name) = @_; return $daemon->client->fields('INFO', 'stats')->{$name} }

# ---- what goes over the wire ----

# Passes on to 127.0.0.1 what comes to 127.0.0.2, and keeps copies, one of each side of a connection.
my $copies = 0;
sub spy {
    my ($copy, @ports) = @_;
    my @doors = map { IO::Socket::INET->new(LocalAddr => "127.0.0.2:$_", Listen => 50, ReuseAddr => 1) // die $! }
        @ports;
    my $pid = fork // die $!;
    if ($pid) {
        $Headgate::running{$pid} = 1;
        return;
    }
    $SIG{PIPE} = 'IGNORE';
    mkdir $copy or die $!;
    my ($select, %other, %out) = (IO::Select->new(@doors));
    while (my @ready = $select->can_read) {
        for my $socket (@ready) {
            if (grep { $_ == $socket } @doors) {
                my $near = $socket->accept or next;
                my $far = IO::Socket::INET->new('127.0.0.1:' . $near->sockport) or next;
                @other{$near, $far} = ($far, $near);
                open $out{$_}, '>', "$copy/" . ++$copies or die $! for $near, $far;
                $select->add($near, $far);
            } elsif ($socket->opened && sysread $socket, my $bytes, 1 << 16) {
                syswrite $out{$socket}, $bytes;
                syswrite $other{$socket}, $bytes if $other{$socket};
            } elsif (my $far = delete $other{$socket}) {
                delete $other{$far};
                $select->remove($socket, $far);
                close $_ for $socket, $far;
            }
        }
    }
    POSIX::_exit(0);
}

# Three regions that reach us-east through the spy. Returns them, and what tells all that was said to it and by it
# so far.
sub overheard {
    my ($what, %tls) = @_;
    my $cluster = cluster_of(%tls);
    my ($us, @others) = $cluster->daemons;
    my $rule = Headgate::write_file(Headgate::scratch() . '/rule.yaml',
                                    "rules:\n  - {id: known-to-peers, service: shop, by: user, rate: 10/s}\n");
    $us->{settings}{advertise} = '127.0.0.2';
    for my $peer (map { grep { $_->{node} eq 'us-east' } @{$_->{settings}{peers}} } @others) {
        s/^127\.0\.0\.1:/127.0.0.2:/ for @$peer{qw(gossip snapshots)};
    }
    $_->write_config for $us, @others;
    spy(Headgate::scratch() . "/$what", @{$us->{ports}}{qw(gossip snapshots)});
    $cluster->start;
    met($cluster, "$what: three regions see each other");
    my ($status, undef, $err) = Headgate::run(20, Headgate::headgate(), qw(rules apply --at),
                                              "127.0.0.1:$us->{ports}{clients}", $rule);
    is("$status$err", '0', 'a rule is made');
    ok(Headgate::wait_until(10, sub { ref $_->client->command(qw(RULE GET shop known-to-peers)) ne 'Headgate::Error' }),
       "$_->{name} hears of it") for @others;
    return ($cluster, sub { return join '', map { Headgate::read_file($_) } glob Headgate::scratch() . "/$what/*" });
}

subtest 'in clear' => sub {
    my ($cluster, $said) = overheard('clear');
    ok(Headgate::wait_until(10, sub { $said->() =~ m{known-to-peers} }), 'whoever reads the wire can read messages');
    ok($cluster->stop(15), 'all leave');
};

my ($cluster, $said) = overheard('tls', all_of('ours'));
my ($us, $eu, $ap) = $cluster->daemons;
subtest 'over TLS' => sub {
    my $all = $said->();
    cmp_ok(length $all, '>', 5000, 'much was said');
    unlike($all, qr/known-to-peers|\0SP\0/, 'and none of it in clear');
    like($us->log, qr/ info listening on .* for snapshots \(peers over TLS\)\n/, 'the log says how peers speak');
    $us->client->command('THROTTLE', 'shared', 3, 30, 3600, 1) for 1 .. 2;
    is(stat_of($_, 'messages_impostor'), 0, "$_->{name} hears each in its own name") for $us, $eu, $ap;
};

# ---- who has no certificate ----

sub descriptors { return scalar(my @found = glob "/proc/$us->{pid}/fd/*") }
sub transport_of { my ($name) = @_; return $us->client->fields('INFO', 'transport')->{"transport_$name"} }

# The ports of 127.0.0.1 at which the daemon listens besides those of its config.
sub inner_ports {
    my %inode = map { (readlink($_) // '') =~ /^socket:\[(\d+)\]/ ? ($1 => 1) : () } glob "/proc/$us->{pid}/fd/*";
    my %known = map { $_ => 1 } values %{$us->{ports}};
    my @rows = grep { ($_->[3] // '') eq '0A' && $inode{$_->[9]} } map { [split] } split /\n/,
        Headgate::read_file('/proc/net/tcp');
    return grep { !$known{$_} } map { $_->[1] =~ /^0100007F:(\w+)$/ ? hex $1 : () } @rows;
}

subtest 'strangers' => sub {
    my ($before, $cut) = (descriptors(), transport_of('connections_cut'));
    my @open;
    for my $port (qw(gossip snapshots)) {
        for my $bytes (("\0SP\0\0\x21\0\0") x 30, ("\x16\x03\x01\x02\0\x01") x 40, ('') x 40) {
            my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $us->{ports}{$port},
                                               LocalAddr => '127.0.0.66', Timeout => 30) or next;
            syswrite $socket, $bytes if length $bytes;
            push @open, $socket;
        }
    }
    ok(Headgate::wait_until(10, sub { transport_of('connections_cut') >= $cut + 180 }), 'they are ended, and counted');
    ok(Headgate::wait_until(10, sub { descriptors() <= $before + 40 }), 'and hold few descriptors')
        or diag descriptors();
    my $heard = stat_of($us, 'messages_received');
    ok(Headgate::wait_until(10, sub { stat_of($us, 'messages_received') > $heard + 20 }), 'peers are heard meanwhile');
    my @inner = inner_ports();
    cmp_ok(scalar @inner, '>=', 6, 'the daemon has ports of its own inside the machine');
    my $said = '';
    for my $port (@inner) {
        my $client = Headgate::Client::connect("127.0.0.1:$port")->send_raw("\0SP\0\0\x21\0\0");
        my $bytes;
        $said .= $bytes while $said !~ /us-east/ && sysread $client->{socket}, $bytes, 4096;
    }
    unlike($said, qr/us-east|eu-west|ap-south/, 'which say nothing to another program, and end its connections');
};

# A handshake over a slow line takes its time; 127.0.0.x are addresses of strangers until they have a certificate.
subtest 'one address makes handshakes without end' => sub {
    my $dial = sub {
        my ($from) = @_;
        my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $us->{ports}{gossip},
                                           LocalAddr => $from, Timeout => 30);
        syswrite $socket, "\x16\x03\x01\x02\0\x01" if $socket;
        return $socket;
    };
    my $is_open = sub { my $set = ''; vec($set, fileno $_[0], 1) = 1; return 0 == select $set, undef, undef, 0 };
    my $cut = transport_of('connections_cut');
    my $slow = $dial->('127.0.0.67');
    my @flood = map { $dial->('127.0.0.68') // () } 1 .. 60;
    ok(Headgate::wait_until(10, sub { transport_of('connections_cut') >= $cut + 40 }), 'it ends its own')
        or diag transport_of('connections_cut') - $cut;
    ok($is_open->($slow), 'a handshake from another address goes on');
    my $left = sub { return scalar grep { $is_open->($_) } @flood };
    ok(Headgate::wait_until(10, sub { $left->() == 15 }), 'and the flood has the other places') or diag $left->();
    close $_ for $slow, @flood;
};

# ---- certificates that change ----

sub reload {
    my ($of) = @_;
    for my $daemon ($us, $eu, $ap) {
        my $reloads = sub { scalar(() = $daemon->log =~ / info SIGHUP: .* is read again, changed: peers_tls\./g) };
        my $before = $reloads->();
        $daemon->{settings}{peers_tls} = $of->($daemon->{name});
        $daemon->write_config->signal('HUP');
        ok(Headgate::wait_until(10, sub { $reloads->() > $before }), "$daemon->{name} reloads") or diag logs($daemon);
    }
    my %heard = map { $_->{name} => stat_of($_, 'messages_received') } $us, $eu, $ap;
    for my $daemon ($us, $eu, $ap) {
        ok(Headgate::wait_until(20, sub { stat_of($daemon, 'messages_received') > $heard{$daemon->{name}} + 20 }),
           "$daemon->{name} hears the others") or diag logs($daemon);
    }
    return met($cluster, 'all see each other');
}
sub ends_of {
    my ($file) = @_;
    my ($ends) = (Headgate::run(10, 'openssl', 'x509', '-in', $file, '-noout', '-enddate'))[1] =~ /=(.*)/;
    return (Headgate::run(10, 'date', '-d', $ends, '+%s'))[1] + 0;
}

subtest 'a new authority, without a restart' => sub {
    my $at = ends_of("$dir/ours/us-east.pem");
    my $metrics = Http::connect($us)->get('/metrics')->{body};
    my $metric = 'headgate_tls_certificate_expiry_timestamp_seconds';
    like($metrics, qr/^$metric\{ports="peers"\} $at$/m, '/metrics has its end');
    is($us->client->fields('INFO', 'server')->{peers_certificate_ends}, $at, 'so does INFO');
    reload(sub { my ($name) = @_; return {%{tls('ours', $name)}, ca => "$dir/both.pem"} });
    reload(sub { my ($name) = @_; return {%{tls('next', $name)}, ca => "$dir/both.pem"} });
    reload(sub { my ($name) = @_; return tls('next', $name) });
    is($us->client->fields('INFO', 'server')->{peers_certificate_ends}, ends_of("$dir/next/us-east.pem"),
       'a new end');
    like($us->log, qr{ warning peers_tls.certificate $dir/next/us-east.pem ends in [67] days: renew it, and reload\n},
         'which comes soon');
    like($us->log, qr{ info connections to peers are made anew, with peers_tls.certificate $dir/next/us-east.pem\n},
         'the log says what a reload costs');
    $us->{settings}{peers_tls}{certificate} = "$dir/next/eu-west.pem";
    $us->{settings}{peers_tls}{key} = "$dir/next/eu-west.key";
    $us->write_config->signal('HUP');
    says($us, qr/ SIGHUP: nothing is changed: .*:\d+: peers_tls.certificate is .*: expected a certificate for us-east/,
         'the certificate of another is none of its own');
    is(() = $us->log =~ / a port for peers did not listen/g, 0, 'no port was taken for deaf');
};
ok($cluster->stop(15), 'all leave');

# ---- who is refused ----

subtest 'another authority' => sub {
    my $cluster = cluster_of(all_of('ours'), 'ap-south' => tls('next', 'ap-south'))->start;
    my ($us, $eu, $ap) = $cluster->daemons;
    my $address = qr/127\.0\.0\.1:\d+/;
    says($us, qr/ warning cannot hear ap-south at $address: its certificate is not signed by an authority in/,
         'its certificate is refused, in a sentence');
    says($ap, qr/ warning cannot hear us-east at $address: its certificate is not signed by/,
         'and so are the others by it');
    unlike(join('', logs($us, $eu)), qr/ap-south \(region ap-south\) is heard/, 'nobody hears it');
    unlike($ap->log, qr/is heard for the first time/, 'nor it anybody');
    ok($cluster->stop(15), 'all leave');
};

subtest 'the name of another' => sub {
    my $cluster = cluster_of(all_of('ours'));
    my ($us, $eu, $ap) = $cluster->daemons;
    # whoever has the certificate of a member, and the secret, takes the place of another one
    $eu->{settings}{node} = 'mallory';
    $eu->{settings}{peers_tls} = tls('ours', 'mallory');
    $eu->write_config;
    $_->start for $us, $ap;
    $eu->start;
    says($us, qr/ cannot hear eu-west at \S+: its certificate is for mallory,localhost: expected one for eu-west/,
         'a certificate for another name is refused, in a sentence');
    unlike(join('', logs($us, $ap)), qr/eu-west \(region eu-west\) is heard/, 'nobody takes it for eu-west');
    ok($cluster->stop(15), 'all leave');
};

subtest 'TLS and none' => sub {
    my %tls = all_of('ours');
    delete $tls{'ap-south'};
    my $cluster = cluster_of(%tls)->start;
    my ($us, $eu, $ap) = $cluster->daemons;
    says($_, qr/ warning cannot hear ap-south at \S+: it speaks no TLS: expected peers_tls in its config as well\n/,
         "$_->{name} says that a peer speaks no TLS") for $us, $eu;
    for my $name ('us-east', 'eu-west') {
        says($ap, qr/ warning cannot hear $name at \S+: it speaks TLS: expected peers_tls in the config of this daemon/,
             "and the peer that $name does");
    }
    is(() = $us->log =~ /cannot hear ap-south/g, 1, 'once');
    ok($cluster->stop(15), 'all leave');
};

subtest 'what a config must say' => sub {
    my $cluster = Headgate::cluster(regions => ['here'], peers_tls => {ca => "$dir/ours/ca.pem"});
    my $here = $cluster->daemon('here');
    for ([{certificate => undef, key => undef}, qr/: peers_tls.certificate is missing: expected the path of/],
         [{}, qr/:\d+: peers_tls.certificate is '.*': expected a certificate for here, as this node is called, such/]) {
        my ($change, $sentence) = @$_;
        my %files = (%{tls('ours', 'us-east')}, %$change);
        delete $files{$_} for grep { !defined $files{$_} } keys %files;
        $here->{settings}{peers_tls} = \%files;
        $here->write_config;
        my ($status, undef, $err) = Headgate::run(10, Headgate::headgated(), '--check-config', '-c', $here->{config});
        is($status, 78, 'exit status 78');
        like($err, $sentence, 'and a sentence');
    }
};

done_testing();
