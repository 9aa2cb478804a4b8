#!/usr/bin/perl
# CHANGELOG.md has an entry for the version that the sources name, in the form that it promises; the licence is there.
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
    push @faults, "the newest released version is @{[$released[0] // 'none']}, the sources name $version"
        if ($released[0] // '') ne $version;
    push @faults, 'versions are not from newest to oldest' if "@number" ne join ' ', reverse sort @number;
    push @faults, map { "'## $_' is neither [Unreleased] nor [x.y.z] - date" }
        grep { !/^\[\d+\.\d+\.\d+\] - $date$/ && $_ ne '[Unreleased]' } @headings;
    push @faults, '[Unreleased] stands first' if ($headings[0] // '') ne '[Unreleased]';
    push @faults, map { "'### $_' is no kind of change" } grep { !$kinds{$_} } $changes =~ /^### (.*)$/mg;
    my ($newest) = $changes =~ /^## \[\Q$version\E\].*\n((?:(?!## ).*\n)*)/m;
    push @faults, "$version says nothing" if ($newest // '') !~ /^- /m;
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
is_deeply([faults('1.2.0', $good)], [], 'a good changelog has no fault');
for (
    ['another version', '1.3.0', $good],
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
like(text('LICENSE'), qr/^\s+Apache License\n\s+Version 2\.0, January 2004\n.*END OF TERMS AND CONDITIONS/s,
     'LICENSE is the whole Apache License 2.0');
like(text('README.md'), qr/\]\($_\)/, "README.md links $_") for qw(LICENSE CHANGELOG.md);
done_testing();
