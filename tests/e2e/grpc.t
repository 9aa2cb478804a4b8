#!/usr/bin/perl
# The Envoy door by real sockets: what gateways ask, by clients of others.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Test::More;

my $scratch = Headgate::scratch();
my $protos = "$Headgate::root/src/grpc/proto";

my @rules = (
    'id: plain, by: [foo, baz], when: {baz: [not-so-shady]}, rate: 3/m',
    'id: shady, by: [foo, baz], when: {baz: [shady]}, rate: 3/m, mode: shadow',
    'id: one, by: service, when: {service: one}, rate: 1/h',
    'id: two, by: service, when: {service: two}, rate: 2/h',
    'id: free, by: foo, when: {foo: unlimited}, rate: unlimited',
    'id: orders, by: user, endpoint: /v1/orders, rate: 60/m, burst: 10',
    'id: address, by: ip, rate: 5/h',
    'id: path, by: [ip, path], rate: 2/h',
    'id: many, by: many, rate: 100/h',
);

sub alone {
    my (%options) = @_;
    my $cluster = Headgate::cluster(regions => ['here'], listen_grpc => 1, %options);
    my $daemon = $cluster->daemon('here')->start;
    return ($cluster, $daemon);
}

my ($cluster, $daemon) = alone();
is($daemon->client->command('RULE', 'APPLY', "rules:\n" . join '', map { "  - {service: edge, $_}\n" } @rules),
   scalar @rules, 'rules of the domain');

subtest 'python3-grpcio' => sub {
    plan skip_all => 'no python3-grpcio and protoc'
        if system('/usr/bin/python3 -c "import grpc, google.protobuf" 2>&- && command -v protoc >/dev/null') != 0;
    mkdir "$scratch/stubs";
    my ($ended, $said, $complaint) = Headgate::run(20, '/usr/bin/python3', "$FindBin::Bin/grpc/gateway.py",
                                                   $daemon->{ports}{grpc}, $protos, "$scratch/stubs");
    is($said, "fine\n", 'a gateway') or diag($complaint);
};

ok($cluster->stop, 'the daemon ends in peace');
done_testing();
