#!/usr/bin/perl
# docs/headgate.spdx names what the programs are made of and link with, and its licenses; config/debian/copyright has
# the notices of what is compiled in.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Test::More;

my $root = $Headgate::root;
my ($head, @packages) = split /\n(?=PackageName: )/, Headgate::read_file("$root/docs/headgate.spdx");
like($head, qr/^SPDXVersion: SPDX-2\.3\n/, 'it says which version of SPDX it is of');
my (%license, %relation, %notice);
for my $package (@packages) {
    my ($name) = $package =~ /^PackageName: (\S+)/;
    my ($id) = $package =~ /^SPDXID: SPDXRef-([A-Za-z0-9.-]+)$/m;
    is($id, $name, "$name has an id");
    ($license{$name}) = $package =~ /^PackageLicenseConcluded: (\S+)$/m;
    ok($license{$name}, "$name has a license");
    ($relation{$name}) = $package =~ /^Relationship: SPDXRef-\S+ (\S+) SPDXRef-\Q$name\E$/m;
    ($notice{$name}) = $package =~ /^PackageCopyrightText: (.*)$/m;
}

# ---- what is linked ----

my %path;
for my $file (qw(headgated headgate libheadgate.so.0)) {
    my ($status, $out, $err) = Headgate::run(30, 'ldd', "$Headgate::build/$file");
    is("$status$err", '0', "$file is linked");
    my (undef, $needed) = Headgate::run(30, 'readelf', '-d', "$Headgate::build/$file");
    for my $library (grep { !/^lib(?:asan|ubsan|tsan|gcc_s|stdc)|^ld-/ } $needed =~ /NEEDED.*\[(.*)\]/g) {
        ($path{$library}) = $out =~ /^\s*\Q$library\E => (\S+)/m;
        ok($path{$library}, "$library is found");
    }
}
# /lib is a link to /usr/lib, and packages name either.
my @candidates = map { ($_, "/usr$_", s{^/usr}{}r) } values %path;
my (undef, $owners) = Headgate::run(120, 'dpkg', '-S', @candidates);
my %linked = map { ($_ => 1) } $owners =~ /^([^:,\s]+)/mg;
cmp_ok(scalar keys %linked, '>=', 10, 'they are linked with libraries of packages');
is_deeply([grep { ($relation{$_} // '') eq 'DYNAMIC_LINK' } sort keys %relation], [sort keys %linked],
          'the list has them, and no others');

# ---- what is compiled in ----

my @contained = grep { ($relation{$_} // '') eq 'CONTAINS' } sort keys %relation;
is("@contained", 'envoy-api grpc-health llhttp protobuf xxhash', 'parts of others are compiled in');
my $copyright = Headgate::read_file("$root/config/debian/copyright");
for my $name (@contained) {
    my ($holder) = $notice{$name} =~ /^Copyright (?:[\d-]+ )?(?:the )?(.*)$/;
    like($copyright, qr/\Q$holder\E/, "$name: the package has its notice");
    my $license = $license{$name} eq 'MIT' ? 'Expat' : $license{$name};
    like($copyright, qr/^License: \Q$license\E\n \S/m, "$name: and its license");
}
my ($status, $out) = Headgate::run(30, 'sh', '-c', "ls '$root/src/grpc/proto'");
is($out, "envoy\ngrpc\n", 'messages of these two');
done_testing();
