#!/usr/bin/perl
# The sources name the newest release of CHANGELOG.md, or what comes after it; CHANGELOG.md has the form that it
# promises; the licence is there.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Test::More;

my $root = "$FindBin::Bin/../..";
my $date = qr/20\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])/;
my %kinds = map { $_ => 1 } qw(Added Changed Deprecated Removed Fixed Security);

sub text {
    open my $file, '<', "$root/$_[0]" or return '';
    local $/;
    return scalar <$file>;
}

# What is wrong with a changelog of sources that name `version`; empty: nothing.
sub faults {
    my ($version, $changes) = @_;
    my @released = $changes =~ /^## \[(\d+\.\d+\.\d+)\] - $date$/mg;
    my @number = map { sprintf '%05d' x 3, split /\./ } @released;
    my @headings = $changes =~ /^## (.*)$/mg;
    my @faults;
    my $newest = $released[0] // 'none';
    my ($coming) = $version =~ /^(\d+\.\d+\.\d+)-dev$/;
    push @faults, "the newest release is $newest, the sources name $version: expected that, or a later one with -dev"
        if defined $coming ? !@number || sprintf('%05d' x 3, split /\./, $coming) le $number[0] : $newest ne $version;
    push @faults, 'versions are not from newest to oldest' if "@number" ne join ' ', reverse sort @number;
    push @faults, map { "'## $_' is neither [Unreleased] nor [x.y.z] - date" }
        grep { !/^\[\d+\.\d+\.\d+\] - $date$/ && $_ ne '[Unreleased]' } @headings;
    push @faults, '[Unreleased] stands first' if ($headings[0] // '') ne '[Unreleased]';
    push @faults, map { "'### $_' is no kind of change" } grep { !$kinds{$_} } $changes =~ /^### (.*)$/mg;
    my ($entries) = $changes =~ /^## \[\Q$newest\E\].*\n((?:(?!## ).*\n)*)/m;
    push @faults, "$newest says nothing" if ($entries // '') !~ /^- /m;
    return @faults;
}

my $good = <<'END';
## [Unreleased]

## [1.2.0] - 2026-01-02

### Added

- a

## [1.1.0] - 2026-01-01

### Fixed

- b
END
is_deeply([faults($_, $good)], [], "a good changelog has no fault for $_") for '1.2.0', '1.3.0-dev', '1.10.0-dev';
for (
    ['another version', '1.3.0', $good],
    ['a version that is behind', '1.2.0-dev', $good],
    ['no date', '1.2.0', $good =~ s/ - 2026-01-02//r],
    ['the wrong order', '1.2.0', $good =~ s/1\.1\.0/1.10.0/r],
    ['an unknown kind', '1.2.0', $good =~ s/Added/Better/r],
    ['an empty version', '1.2.0', $good =~ s/- a\n//r],
    ['nothing for what is unreleased', '1.2.0', $good =~ s/## \[Unreleased\]\n//r],
) {
    my ($name, $version, $changes) = @$_;
    isnt(scalar faults($version, $changes), 0, "$name is found");
}

my ($version) = text('src/base/version.h') =~ /#define HEADGATE_VERSION "(.*)"/;
is_deeply([faults($version, text('CHANGELOG.md'))], [], 'CHANGELOG.md is about the version of src/base/version.h');
like(text('config/kubernetes/base/kustomization.yaml'), qr/newTag: "\Q$version\E"/, 'the image of Kubernetes is of it');
like(text('docs/kubernetes.md'), qr/docker build -t registry\.example\/headgate:\Q$version\E /, 'and its page says so');
like(text('LICENSE'), qr/^\s+Apache License\n\s+Version 2\.0, January 2004\n.*END OF TERMS AND CONDITIONS/s,
     'LICENSE is the whole Apache License 2.0');
like(text('README.md'), qr/\]\($_\)/, "README.md links $_") for qw(LICENSE CHANGELOG.md);
done_testing();
