# Visitors: clients in the network of a machine, of RESP and of HTTP, that connect anew for each request while the
# package of the machine's daemon is changed: what they saw, and what they were admitted.
#
# The one idea: each takes from one bucket, which they ask for too much, and from one quota, which they never use up.
# So what the bucket gave shows whether its limit was exceeded, and what is left of the quota whether anything was
# forgotten.
package Visitors;
use strict;
use warnings;
use Errno qw(ECONNREFUSED);
use Headgate;
use Http;
use JSON::PP qw(encode_json decode_json);
use List::Util qw(max min sum0);
use Time::HiRes qw(time);

our @kinds = qw(resp resp http);
my $cost = 10;

# What they take from: 100 of `pace` at once and as many a second, and a million of `shop` a year.
our $rules = "rules: [{id: second, service: pace, by: user, rate: 100/s, burst: 100, persist: true},\n"
    . "        {id: yearly, service: shop, by: user, algorithm: quota, limit: 1000000, window: year}]\n";
our ($burst, $rate, $quota) = (100, 100, 1_000_000);

# Each takes from both, and returns what it was admitted: (of the bucket, of the quota).
my %visit = (
    resp => sub {
        my @replies = Headgate::Client::connect('127.0.0.1:7070')->pipeline(
            [qw(CHECK user=ann SERVICE pace COST), $cost], [qw(CHECK user=ann SERVICE shop)]);
        die "an error: @replies" if grep { !ref || ref eq 'Headgate::Error' } @replies;
        return ($cost * $replies[0][0], $replies[1][0]);
    },
    http => sub {
        my %ann = (identifiers => {user => 'ann'});
        my $answers = Http::connect(7073)->post('/v1/check', [{%ann, service_id => 'pace', cost => $cost},
                                                              {%ann, service_id => 'shop'}])->{json};
        die 'an error' if ref $answers ne 'ARRAY';
        return map { $_->[0] * ($_->[1]{allowed} ? 1 : 0) } [$cost, $answers->[0]], [1, $answers->[1]];
    },
);

# One client, until the file `stop` is there. `out` gets what it saw: visits that were refused, answered, or cut off
# (in `words`, how), what it was admitted, and when its first visit began and its last one ended.
sub run {
    my ($kind, $stop, $out) = @_;
    my %saw = (kind => $kind, map { $_ => 0 } qw(refused answered cut bucket quota last));
    $saw{first} = time;
    while (!-e $stop) {
        my ($bucket, $quota) = eval { $visit{$kind}->() };
        if (defined $quota) {
            @saw{qw(bucket quota)} = ($saw{bucket} + $bucket, $saw{quota} + $quota);
            $saw{answered}++;
            Headgate::write_file("$out.lives", '') if $saw{answered} % 100 == 1;
        } elsif ($! == ECONNREFUSED || $@ =~ /refused/) {
            $saw{refused}++;
        } else {
            $saw{cut}++;
            $saw{words}{$@ =~ s/ at .*//sr}++;
        }
        $saw{last} = time;
    }
    return Headgate::write_file($out, encode_json(\%saw));
}

# Runs all of them in the network of the machine while `change` runs: what they saw together.
my $runs = 0;
sub during {
    my ($machine, $change) = @_;
    my $place = Headgate::scratch() . '/visitors-' . $runs++;
    my @out = map { "$place.$_" } 0 .. $#kinds;
    my @pids = map { $machine->beside("$place.log", $^X, "-I$Headgate::root/tests/e2e", '-MVisitors', '-e',
        'Visitors::run(@ARGV)', $kinds[$_], "$place.stop", $out[$_]) } 0 .. $#kinds;
    my $lives = sub {
        unlink map { "$_.lives" } @out;
        return Headgate::wait_until(30, sub { @out == grep { -e "$_.lives" } @out });
    };
    my $lived = $lives->();
    $change->();
    $lived &&= $lives->();
    Headgate::write_file("$place.stop", '');
    waitpid $_, 0 for @pids;
    my @saw = map { decode_json(Headgate::read_file($_) || '{}') } @out;
    my %all = map { my $what = $_; ($what => sum0 map { $_->{$what} // 0 } @saw) }
        qw(refused answered cut bucket quota);
    my %words = map { %{$_->{words} // {}} } @saw;
    return {%all, lived => $lived, words => join('; ', sort keys %words), log => Headgate::read_file("$place.log"),
            seconds => max(map { $_->{last} // 0 } @saw) - min(map { $_->{first} // 0 } @saw)};
}

1;
