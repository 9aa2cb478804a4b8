#!/usr/bin/perl
# The files for Kubernetes: what kustomize makes of them is valid by the schemas of Kubernetes, the config that each pod
# gets is good, its names are those of the services, and the daemons of all pods agree on what they must agree on.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use MIME::Base64 qw(decode_base64);
use JSON::PP ();
use Test::More;

plan skip_all => 'no kubectl, node and npm' if system('command -v kubectl node npm >/dev/null') != 0;
my $files = "$FindBin::Bin/../../config/kubernetes";
my $scratch = Headgate::scratch();
my @regions = qw(us-east eu-west ap-south);

# The objects of a region, as kustomize makes them: {"KIND NAME" => object}.
my %objects;
for my $region (@regions) {
    my $to_json = 'import json, sys, yaml; json.dump(list(yaml.safe_load_all(sys.stdin)), sys.stdout)';
    my ($status, $out, $err) = Headgate::run(60, 'bash', '-c', "set -o pipefail; kubectl kustomize '$files/$region' |"
        . " python3 -c '$to_json' >'$scratch/$region.json'");
    is($status, 0, "$region: kustomize makes it") or diag($err);
    $objects{$region} = {map { ("$_->{kind} $_->{metadata}{name}" => $_) }
        @{JSON::PP::decode_json(Headgate::read_file("$scratch/$region.json"))}};
}

# The same template, naming a file here that has what the pod finds in its Secret, with the mode that it finds there.
sub mounted_secret {
    my ($region, $spec, $template) = @_;
    my ($volume) = grep { $_->{name} eq 'secret' } @{$spec->{volumes}};
    my ($mount) = grep { $_->{name} eq 'secret' } @{$spec->{containers}[0]{volumeMounts}};
    my $secret = $objects{$region}{"Secret $volume->{secret}{secretName}"} or return '';
    my ($path, $key) = $template =~ m{^secret_file: (.+)/(\w+)$}m or return '';
    return '' if $path ne $mount->{mountPath} || !exists $secret->{data}{$key};
    unlink "$scratch/secret";
    Headgate::write_file("$scratch/secret", decode_base64($secret->{data}{$key}));
    chmod $volume->{secret}{defaultMode}, "$scratch/secret";
    return $template =~ s{^secret_file: .*}{secret_file: $scratch/secret}mr;
}

# The config of a pod, as its init container writes it.
sub config_of {
    my ($region, $index) = @_;
    my ($set) = grep { $_->{kind} eq 'StatefulSet' } values %{$objects{$region}};
    my $spec = $set->{spec}{template}{spec};
    my ($template) = grep { $_->{name} eq 'template' } @{$spec->{volumes}};
    my $map = $objects{$region}{"ConfigMap $template->{configMap}{name}"} or return '';
    Headgate::write_file("$scratch/template.yaml", mounted_secret($region, $spec, $map->{data}{'headgate.yaml'}));
    my $script = $spec->{initContainers}[0]{args}[0];
    $script =~ s{/template/headgate.yaml}{$scratch/template.yaml} or return '';
    $script =~ s{/etc/headgate/headgate.yaml}{$scratch/pod.yaml} or return '';
    unlink "$scratch/pod.yaml";
    local $ENV{POD_NAME} = "$set->{metadata}{name}-$index";
    return system('sh', '-c', $script) == 0 ? Headgate::read_file("$scratch/pod.yaml") : '';
}

my (%shared, %secrets);
for my $region (@regions) {
    my ($set) = grep { $_->{kind} eq 'StatefulSet' } values %{$objects{$region}};
    is($set->{spec}{replicas}, 2, "$region: two daemons");
    ok($objects{$region}{"Service $set->{spec}{serviceName}"}, "$region: the pods have names of a service");
    for my $index (0, 1) {
        my $pod = "$set->{metadata}{name}-$index";
        my $config = config_of($region, $index);
        is((stat "$scratch/secret")[2] & 07, 0, "$pod: nobody else reads its secret");
        $secrets{Headgate::read_file("$scratch/secret")}++;
        my @check = (Headgate::headgated(), '--check-config', '--config', "$scratch/pod.yaml");
        my ($status, $out, $err) = Headgate::run(20, @check);
        is("$status $out", "0 $scratch/pod.yaml is good: node $pod in region $region, limits: 1, peers: 5\n",
            "$pod: its config is good") or diag($err);
        my $host = "$pod.$set->{spec}{serviceName}.$set->{metadata}{namespace}.svc";
        like($config, qr/^advertise: \Q$host\E$/m, "$pod: peers reach it by its name");
        my %peers = $config =~ /node: (\S+), region: \S+ gossip: "([^:]+):7071"/g;
        $peers{$pod} = $host;
        my $daemons = join ' ', map { "$_=$peers{$_}" } sort keys %peers;
        my $rest = ($config =~ s/\A.*?^regions:/regions:/msr) =~ s/^  - \{node:.*\n//mgr;
        $shared{$daemons}{$rest}++;
    }
}
is_deeply([map { values %$_ } values %shared], [6], 'all six name the same daemons, and share the rest');
is_deeply([values %secrets], [6], 'and the secret');

# ---- who reaches whom, once a network enforces the policies ----

sub selects {
    my ($selector, $labels) = @_;
    my %wanted = %{$selector->{matchLabels} // {}};
    return 0 if grep { ($labels->{$_} // '') ne $wanted{$_} } keys %wanted;
    for my $expression (@{$selector->{matchExpressions} // []}) {
        return 0 if $expression->{operator} ne 'In';
        return 0 if !grep { $_ eq ($labels->{$expression->{key}} // '') } @{$expression->{values}};
    }
    return 1;
}

my %pod_labels = map {
    my ($set) = grep { $_->{kind} eq 'StatefulSet' } values %{$objects{$_}};
    ($_ => $set->{spec}{template}{metadata}{labels});
} @regions;
for my $region (@regions) {
    my ($policy) = grep { $_->{kind} eq 'NetworkPolicy' } values %{$objects{$region}};
    my ($budget) = grep { $_->{kind} eq 'PodDisruptionBudget' } values %{$objects{$region}};
    for my $object ([$policy, $policy->{spec}{podSelector}], [$budget, $budget->{spec}{selector}]) {
        is_deeply([grep { selects($object->[1], $pod_labels{$_}) } @regions], [$region],
                  "$region: its $object->[0]{kind} is about its own daemons");
    }
    my @let_in = grep { my $rule = $_; grep { $_->{port} eq 'gossip' } @{$rule->{ports}} } @{$policy->{spec}{ingress}};
    my @from = map { @{$_->{from}} } @let_in;
    is(scalar @from, 1, "$region: one rule lets peers in");
    is_deeply([grep { selects($from[0]{podSelector}, $pod_labels{$_}) } @regions], \@regions,
              "$region: daemons of all regions");
    ok(!selects($from[0]{podSelector}, {app => 'another'}), "$region: and nobody else");
}

subtest 'the schemas of Kubernetes' => sub {
    system('cp', '-r', "$FindBin::Bin/kubernetes", "$scratch/validate") == 0 or die;
    my ($status, $out, $err) = Headgate::run(120, 'sh', '-c', "cd '$scratch/validate' && npm ci --no-audit --no-fund");
    plan skip_all => 'npm cannot install them: ' . ((split /\n/, $err)[0] // '') if $status != 0;
    # The API server accepts base64 in lines, as kustomize writes it; the schema does not.
    for my $region (@regions) {
        Headgate::write_file("$scratch/$region.json", Headgate::read_file("$scratch/$region.json") =~ s/\\n//gr);
    }
    my $broken = "$scratch/broken.json";
    Headgate::write_file($broken, Headgate::read_file("$scratch/us-east.json") =~ s/"replicas": 2/"replicas": "two"/r);
    (undef, $out) = Headgate::run(60, 'node', "$scratch/validate/validate.js", $broken);
    like($out, qr/^StatefulSet headgate-us-east: .*replicas/m, 'a mistake is found');
    for my $region (@regions) {
        ($status, $out, $err) = Headgate::run(60, 'node', "$scratch/validate/validate.js", "$scratch/$region.json");
        is("$status $out$err", '0 ', "$region: all objects are valid");
    }
};
done_testing();
