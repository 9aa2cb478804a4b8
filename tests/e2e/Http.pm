# Http.pm: a client of HTTP with a deadline on everything, for end-to-end tests. What it sends is as raw as a test
# wants.
#
#   my $client = Http::connect($daemon);
#   my $answer = $client->get('/check?user=alice');      # {status, head => {...}, body, json}
#   my $answer = $client->post('/v1/check', {...});
package Http;

use strict;
use warnings;
use Headgate;
use JSON::PP qw(encode_json decode_json);
our @ISA = qw(Headgate::Client);

sub connect {
    my ($daemon) = @_;
    my $self = Headgate::Client::connect('127.0.0.1:' . (ref $daemon ? $daemon->{ports}{http} : $daemon));
    return bless $self, 'Http';
}

# Reads one answer; of an answer to HEAD there is the head alone.
sub answer {
    my ($self, $method) = @_;
    $self->need while $self->{buffer} !~ /\r\n\r\n/;
    $self->{buffer} =~ s/^(.*?)\r\n\r\n//s;
    my ($first, @lines) = split /\r\n/, $1;
    my ($status) = $first =~ m{^HTTP/1\.1 (\d{3}) } or die "no status line: $first";
    my %head = map { /^([^:]+): (.*)$/ ? (lc $1 => $2) : () } @lines;
    my $size = $status == 100 || $status == 304 || ($method // '') eq 'HEAD' ? 0 : $head{'content-length'} // 0;
    $self->need while length $self->{buffer} < $size;
    my $body = substr $self->{buffer}, 0, $size, '';
    return {status => $status, head => \%head, body => $body, json => scalar eval { decode_json($body) }};
}

sub request {
    my ($self, $method, $target, $body, @lines) = @_;
    push @lines, 'Content-Length: ' . length $body if defined $body;
    $self->send_raw(join("\r\n", "$method $target HTTP/1.1", 'Host: here', @lines) . "\r\n\r\n" . ($body // ''));
    return $self->answer($method);
}

sub get { my ($self, $target, @lines) = @_; return $self->request('GET', $target, undef, @lines) }

sub post {
    my ($self, $target, $body, @lines) = @_;
    $body = encode_json($body) if ref $body;
    return $self->request('POST', $target, $body, 'Content-Type: application/json', @lines);
}

sub put {
    my ($self, $target, $body, @lines) = @_;
    $body = encode_json($body) if ref $body;
    return $self->request('PUT', $target, $body, 'Content-Type: application/json', @lines);
}

sub delete { my ($self, $target, @lines) = @_; return $self->request('DELETE', $target, undef, @lines) }

# The values of GET /metrics, by "name" or "name{labels}".
sub metrics {
    my ($self) = @_;
    return {map { /^([a-z_]+(?:\{.*\})?) (\S+)$/ ? ($1 => $2) : () } split /\n/, $self->get('/metrics')->{body}};
}

1;
