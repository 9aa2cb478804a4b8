#!/usr/bin/perl
# The files of config/integrations with the real programs: each gateway, in front of a small application, asks a daemon.
# Addresses are others than in the files, so that several tests can run.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Http;
use IO::Socket::INET;
use Test::More;

my $files = "$Headgate::root/config/integrations";
my ($gateway_port, $application_port) = Headgate::free_ports(2);

# What a file says, at other addresses: of the daemon, of the gateway, of the application.
sub moved {
    my ($name, $daemon) = @_;
    my $text = Headgate::read_file("$files/$name");
    my $count = $text =~ s/\b7073\b/$daemon->{ports}{http}/g;
    $count += $text =~ s/:8080\b/:$gateway_port/g;
    $text =~ s/\b127\.0\.0\.1:9000\b/127.0.0.1:$application_port/g;
    # a machine that is busy is not a daemon that is away
    $text =~ s/\btimeout_ms = \K150\b/1000/;
    $text =~ s/\btimeout_s = \K0\.5\b/2/;
    $text =~ s/\b(?:proxy_connect_timeout|proxy_read_timeout|dial_timeout|response_header_timeout) \K[15]00ms\b/2s/g;
    die "$name names no address" if !$count;
    return $text;
}

# The value of request_headers that a file's head asks for.
sub headers_of {
    my ($name) = @_;
    my ($headers) = Headgate::read_file("$files/$name") =~ /request_headers: (".*?")/;
    die "$name: no request_headers" if !defined $headers;
    return $headers;
}

# Answers every request with its own target, and says which keys it was told; one process. Of /broken... it makes a
# note, and gives no answer.
my $broken = Headgate::scratch() . '/broken';
sub application {
    my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $application_port, Listen => 16,
                                         ReuseAddr => 1) or die "application: $!";
    my $pid = fork // die "fork: $!";
    if ($pid == 0) {
        $SIG{$_} = 'DEFAULT' for qw(INT TERM HUP);
        while (my $client = $listener->accept) {
            my $request = '';
            while ($request !~ /\r\n\r\n/ && sysread $client, $request, 4096, length $request) { }
            my ($target) = $request =~ /^\S+ (\S+)/;
            if (($target // '') =~ m{^/broken}) {
                Headgate::write_file($broken, Headgate::read_file($broken) . "$target\n");
                close $client;
                next;
            }
            my $body = 'the application has ' . ($target // '') . "\n";
            my $keys = join '|', $request =~ /^x[-_]api[-_]key:[ \t]*(.*?)[ \t]*\r$/gim;
            print $client "HTTP/1.1 200 OK\r\nConnection: close\r\nX-Keys: $keys\r\nContent-Length: " . length($body) .
                "\r\n\r\n$body";
            close $client;
        }
        POSIX::_exit(0);
    }
    $Headgate::running{$pid} = 1;
    close $listener;
    return;
}

sub daemon_of {
    my ($request_headers) = @_;
    my $cluster = Headgate::cluster(regions => ['here'], listen_http => 1, threads => 1,
                                    $request_headers ? (http => {request_headers => $request_headers}) : ());
    my $daemon = $cluster->daemon('here')->start;
    is($daemon->client->command('RULE', 'SET', <<'RULES'), 'OK', 'the daemon has rules');
rules:
  - {id: per-key, service: shop, by: api_key, algorithm: fixed_window, limit: 3, window: 1d}
  - {id: checkout, service: shop, by: api_key, endpoint: /v1/checkout, algorithm: fixed_window, limit: 1, window: 1d}
  - {id: soft, service: shop, by: api_key, endpoint: /soft, algorithm: fixed_window, limit: 1, window: 1d, mode: soft}
  - {id: cafe, service: shop, by: api_key, endpoint: "/caf\u00e9", algorithm: fixed_window, limit: 1, window: 1d}
RULES
    return $daemon;
}

sub ask { my ($target, @lines) = @_; return Http::connect($gateway_port)->get($target, 'Connection: close', @lines) }

# What a client may make long or odd is no way past its limit.
sub goes_around {
    my ($daemon) = @_;
    my $path = '/' . 'p' x 700;
    is(join(' ', map { ask($path, 'X-Api-Key: fay')->{status} } 1 .. 4), '200 200 200 429', 'a long path is limited');
    is(ask('/v1/%C3%A9%7f?x=' . 'q' x 700, 'X-Api-Key: fay')->{status}, 429, 'so is an odd one');
    my @long = ('X-Api-Key: ' . 'k' x 3000);
    my @said = map { ask('/free', @long)->{status} } 1 .. 4;
    is("@said", $daemon->{long_keys} ? '200 200 200 429' : '400 400 400 400', 'a long key does not get past');
    # 200 at most as often as the limit says, also where the gateway's question would be larger than the daemon takes.
    for my $odd ([5000, 'l'], [7800, 'm'], [100, "n\x01"], [50, "n\tn"]) {
        my ($size, $letter) = @$odd;
        my @statuses = map { ask('/' . 'l' x $size, 'X-Api-Key: ' . $letter x $size)->{status} } 1 .. 5;
        my $passed = () = "@statuses" =~ /200/g;
        cmp_ok($passed, '<=', 3, "of 5 requests with a head of 2 * $size bytes no more pass than may: @statuses");
    }
    return;
}

# Of several keys the application reads which it likes: it has none beside the one that is counted.
sub has_one_key {
    my ($name) = @_;
    my $number = 0;
    my %odd = ('the second of two' => sub { ("X-Api-Key: $_[0]", "X-Api-Key: $_[1]") },
               'the first of two' => sub { ("X-Api-Key: $_[1]", "X-Api-Key: $_[0]") },
               'one behind none' => sub { ('X-Api-Key:', "X-Api-Key: $_[1]") },
               'one before none' => sub { ("X-Api-Key: $_[1]", 'X-Api-Key:') });
    $odd{'one of a like name'} = sub { ("X-Api-Key: $_[0]", "X_Api_Key: $_[1]") } if $name =~ /nginx|haproxy/;
    for my $what (sort keys %odd) {
        my $key = 'hal-' . $number++;
        my @answers = map { ask('/free', $odd{$what}->("ida-$number-$_", $key)) } 1 .. 5;
        my $passed = grep { $_->{status} == 200 && ($_->{head}{'x-keys'} // '') =~ /(?:^|\|)$key(?:\||$)/ } @answers;
        cmp_ok($passed, '<=', 3, "$what: 5 requests whose application may read one key pass $passed times");
    }
    return;
}

# Spellings of /v1/checkout are no way past its rule; what is another path for most applications is another one here.
sub counts_spellings {
    my ($name) = @_;
    my (%said, $number);
    for my $odd ('/v1//checkout', '//v1/checkout', '/v1/./checkout', '/v1/x/../checkout', '/v1/x/%2E%2e/checkout',
                 '/v1/check%6fut', '/v1/check%6Fut?basket=1', '/%76%31/checkout', '/x//../v1/checkout',
                 '/v1/' . 'x' x 300 . '/../checkout', '/../v1/checkout',
                 $name eq 'caddy' ? () : '/v1/checkout#there', # for Caddy it is another path, with %23
                 'http://shop.example/v1/checkout', 'http://shop.example//v1/./checkout?basket=1') {
        my $key = 'X-Api-Key: jon-' . ++$number;
        is(ask('/v1/checkout', $key)->{status}, 200, 'the first request of an endpoint passes');
        my $status = ask($odd, $key)->{status};
        like($status, qr/^(?:429|400|404)$/, "$odd is refused, here or by $name: $status");
        $said{$status}++;
    }
    cmp_ok($said{429} // 0, '>=', 9, 'most of them by the limit');
    for my $other ('/v1/checkout/', '/v1/checkout;a=b', '/v1/Checkout', '/v1%2Fcheckout') {
        my $key = 'X-Api-Key: kit-' . ++$number;
        is(ask('/v1/checkout', $key)->{status}, 200, 'the first request of an endpoint passes');
        my $status = ask($other, $key)->{status};
        like($status, qr/^(?:200|404)$/, "$other is another path: $status"); # Apache has no %2F
    }
    return;
}

# A daemon that takes a question and does not answer holds up nobody for long. The question may have been charged: it is
# not sent a second time. (HAProxy before 2.8 cannot be told so.)
sub asks_once {
    my ($daemon) = @_;
    my $silent = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $daemon->{ports}{http}, Listen => 16,
                                       ReuseAddr => 1, Blocking => 0) or die "silent daemon: $!";
    is(ask('/free', 'X-Api-Key: ann')->{status}, 200, 'without an answer of the daemon, requests pass');
    my $count = 0;
    $count++ while $silent->accept;
    cmp_ok($count, '==', 1, '... and are asked about once') if $daemon->{gateway} ne 'haproxy';
    close $silent;
    return;
}

# Whatever headers the daemon says, the gateway's client is told.
sub tells_the_draft {
    my ($daemon) = @_;
    my $set = sub {
        $daemon->{settings}{http}{limit_headers} = $_[0];
        return $daemon->write_config->client->command('RELOAD')->[1];
    };
    is_deeply($set->('draft-10'), ['http.limit_headers'], 'other headers');
    my $passed = ask('/free', 'X-Api-Key: pia')->{head};
    is($passed->{'ratelimit-policy'}, '"per-key";q=3;w=86400', 'a policy') if $daemon->{tells};
    like($passed->{ratelimit}, qr/^"per-key";r=2;t=\d+$/, '... and what is left') if $daemon->{tells};
    my $refused = ask('/free', 'X-Api-Key: ann')->{head};
    is($refused->{'ratelimit-policy'}, '"per-key";q=3;w=86400', 'whoever is refused is told as well');
    like($refused->{ratelimit}, qr/^"per-key";r=0;t=\d+$/, '... what is left');
    is($refused->{'x-ratelimit-limit'}, undef, '... once');
    is_deeply($set->('x-ratelimit'), ['http.limit_headers'], 'and back');
    return;
}

# What every gateway has to do, however it does it.
sub behaves {
    my ($daemon) = @_;
    ok(Headgate::wait_until(20, sub { eval { ask('/up', 'X-Api-Key: nobody')->{status} == 200 } }),
       'the gateway is up');
    for my $left (2, 1, 0) {
        my $answer = ask('/free', 'X-Api-Key: ann');
        is($answer->{status}, 200, 'a request within the limit passes');
        is($answer->{body}, "the application has /free\n", 'and is answered by the application');
        is($answer->{head}{'x-ratelimit-remaining'}, $left, 'with what is left') if $daemon->{tells};
    }
    my $answer = ask('/free', 'X-Api-Key: ann');
    is($answer->{status}, 429, 'one beyond is refused');
    unlike($answer->{body}, qr/application/, 'and does not reach the application');
    cmp_ok($answer->{head}{'retry-after'} // 0, '>', 0, 'and is told when to come again');
    is($answer->{head}{'x-ratelimit-limit'}, 3, 'and the limit');
    tells_the_draft($daemon);
    is(ask('/free', 'X-Api-Key: bob')->{status}, 200, 'another client passes');
    is(ask('/v1/checkout?basket=1', 'X-Api-Key: cid')->{status}, 200, 'an endpoint has a rule of its own');
    is(ask('/v1/checkout?basket=2', 'X-Api-Key: cid')->{status}, 429, 'whatever its query says');
    is(ask('/v1/checkout', 'X-Api-Key: cid', "$_: /free", 'X-Real-IP: 6.6.6.6')->{status}, 429,
       "a client cannot say $_ itself") for qw(X-Original-URI X-Forwarded-Uri);
    is(join(' ', map { ask('/soft', 'X-Api-Key: eve')->{head}{'x-ratelimit-over-limit'} // 'no' } 1, 2), 'no true',
       'what is over a soft limit passes and is called so') if $daemon->{tells};
    is(ask('/v1/checkout', 'X-Api-Key: cid&cost=0&api_key=x')->{status}, 200, 'a key is what it is');
    is(ask('/free')->{status}, 200, 'no key counts as none');
    is(join(' ', map { ask('/caf%c3%a9', 'X-Api-Key: moe')->{status} } 1, 2), '200 429',
       'a path that is decoded is UTF-8') if $daemon->{decodes};
    goes_around($daemon);
    for my $same (@{$daemon->{same} // []}) {
        is(ask($_, "X-Api-Key: $same")->{status}, $_ eq $same ? 429 : 200, "$_ in its turn") for '/v1/checkout', $same;
    }
    if ($daemon->{gateway}) {
        my $path = "/broken-$daemon->{gateway}";
        is(ask($path, 'X-Api-Key: guy')->{status}, 502, 'where the application breaks off, the client is told,');
        is(scalar(() = Headgate::read_file($broken) =~ /^\Q$path\E$/mg), 1, 'and the application is not asked again');
    }
    has_one_key($daemon->{gateway}) if $daemon->{gateway};
    counts_spellings($daemon->{gateway}) if $daemon->{gateway};
    $daemon->stop;
    is(ask('/free', 'X-Api-Key: ann')->{status}, 200, 'without a daemon, requests pass');
    asks_once($daemon) if $daemon->{gateway};
    $daemon->start;
    my $number = 0; # HAProxy before 2.8 asks again, and is refused, where the daemon takes longer than 150 ms
    ok(Headgate::wait_until(20, sub { ask('/v1/checkout', 'X-Api-Key: dan-' . ++$number)->{status} == 200 }),
       'with it again');
    ok(Headgate::wait_until(20, sub { ask('/v1/checkout', "X-Api-Key: dan-$number")->{status} == 429 }),
       'they are limited again');
    return;
}

sub gateway {
    my ($name, $program, $file, $start) = @_;
    subtest $name => sub {
        plan skip_all => "there is no $program here" if system("command -v $program >/dev/null 2>&1") != 0;
        my $place = Headgate::scratch() . "/$name";
        mkdir $place or die "$place: $!";
        my $daemon = daemon_of(headers_of($file));
        $daemon->{tells} = $name ne 'caddy'; # which tells of limits where it refuses only
        $daemon->{long_keys} = 1;
        $daemon->{gateway} = $name;
        my $pid = Headgate::spawn("$place/out", "$place/out", $start->($daemon, $place));
        behaves($daemon);
        kill 'TERM', $pid;
        ok(Headgate::wait_until(20, sub { waitpid($pid, POSIX::WNOHANG()) == $pid }), 'the gateway ends');
        delete $Headgate::running{$pid};
        diag(Headgate::read_file("$place/out")) if !Test::More->builder->is_passing;
        $daemon->stop;
    };
    return;
}

# A middleware inside of an application, which answers as `application` does. `source` is the application: it takes the
# port, the daemon's port, and whether it refuses while no daemon answers.
sub middleware {
    my ($name, $needs, $file, $source, @command) = @_;
    subtest $name => sub {
        plan skip_all => "not all of this is here: $needs" if system("$needs >/dev/null 2>&1") != 0;
        my $place = Headgate::scratch() . "/$name";
        mkdir $place or die "$place: $!";
        my $daemon = daemon_of();
        $daemon->{tells} = 1;
        $daemon->{decodes} = $name ne 'express';
        $daemon->{same} = ['/v1/checkout/', '/V1/Checkout', '/V1/CHECKOUT/?basket=1'] if $name eq 'express';
        my ($script) = map { Headgate::write_file("$place/$_->[0]", $_->[1]) }
            $source, [$file, Headgate::read_file("$files/$file")];
        my ($locked) = Headgate::cluster(regions => ['locked'], listen_http => 1, password => 'not known')->daemons;
        my ($closed_port, $locked_port) = Headgate::free_ports(2);
        my @running = map {
            Headgate::spawn("$place/out", "$place/out", @command, $script, $_->[0], $_->[1]{ports}{http}, $_->[2])
        } [$gateway_port, $daemon, 'open'], [$closed_port, $daemon, 'closed'], [$locked_port, $locked->start, 'open'];
        my $says = sub { return Headgate::read_file("$place/out") =~ /$_[0]{ports}{http} \Q$_[1]\E/ };
        behaves($daemon);
        my @zoe = ('Connection: close', 'X-Api-Key: zoe');
        my $closed = sub { Http::connect($closed_port)->get('/free', @zoe)->{status} };
        ok(Headgate::wait_until(20, sub { eval { $closed->() == 200 } }), 'the other one has a daemon as well');
        $daemon->stop;
        is($closed->(), 503, 'and refuses without one, as it was told');
        ok($says->($daemon, 'gives no answer: requests are refused with 503'), 'which it says');
        ok(Headgate::wait_until(20, sub { eval { Http::connect($locked_port)->get('/free', @zoe)->{status} == 200 } }),
           'one that its daemon does not let ask lets all pass');
        ok($says->($locked, 'answers 401: requests pass without a limit'), 'and says so');
        $daemon->start;
        ok(Headgate::wait_until(20, sub { $closed->() == 200 }), 'with it again it passes');
        $daemon->stop;
        $daemon->start;
        is($closed->(), 200, 'a connection that the daemon has closed is noticed before anything is sent on it');
        kill 'KILL', @running;
        waitpid $_, 0 for @running;
        delete @Headgate::running{@running};
        diag(Headgate::read_file("$place/out")) if !Test::More->builder->is_passing;
        $_->stop for $daemon, $locked;
    };
    return;
}

my @python = ('/usr/bin/python3');
my @node   = ('env', 'NODE_PATH=/usr/share/nodejs', 'node');

middleware('wsgi', "@python -c 'import flask'", 'headgate_wsgi.py', ['application.py', <<'END'], @python);
import sys
from flask import Flask, request
from headgate_wsgi import Headgate
from werkzeug.serving import WSGIRequestHandler

port, daemon_port, mode = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
app = Flask(__name__)
app.wsgi_app = Headgate(app.wsgi_app, service="shop", port=daemon_port, timeout_s=5, closed=mode == "closed",
                        identify=lambda environ: {"api_key": environ.get("HTTP_X_API_KEY")})

@app.route("/<path:path>")
def anything(path):
    return f"the application has {request.path}\n"

WSGIRequestHandler.protocol_version = "HTTP/1.1"
app.run("127.0.0.1", port, threaded=mode == "open")  # else one thread has one connection for all requests
END

middleware('asgi', "@python -c 'import fastapi, uvicorn, httpx'", 'headgate_asgi.py',
           ['application.py', <<'END'], @python);
import sys
import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse
from headgate_asgi import Headgate

port, daemon_port, mode = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
app = FastAPI()
app.add_middleware(Headgate, service="shop", address=f"http://127.0.0.1:{daemon_port}", timeout_s=5,
                   closed=mode == "closed", identify=lambda request: {"api_key": request.headers.get("x-api-key")})

@app.get("/{path:path}")
async def anything(request: Request):
    return PlainTextResponse(f"the application has {request.url.path}\n")

uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")
END

# The server of this test may know no WebSockets: their handshakes come as such a server hands them on.
subtest 'asgi, WebSockets' => sub {
    plan skip_all => 'no Starlette, or no httpx'
        if system("@python -c 'import starlette, httpx' 2>/dev/null") != 0;
    my $daemon = daemon_of();
    my $place = Headgate::scratch() . '/websockets';
    mkdir $place or die "$place: $!";
    my ($script) = map { Headgate::write_file("$place/$_->[0]", $_->[1]) }
        ['handshakes.py', <<'END'], ['headgate_asgi.py', Headgate::read_file("$files/headgate_asgi.py")];
import asyncio
import sys
from headgate_asgi import Headgate

async def application(scope, receive, send):
    await send({"type": "websocket.accept"})

async def main():
    app = Headgate(application, service="shop", address=f"http://127.0.0.1:{sys.argv[1]}", timeout_s=5,
                   identify=lambda request: {"api_key": request.headers.get("x-api-key")})
    for key in [b"wes"] * 4 + [b"k" * 3000]:
        said = []
        async def send(message):
            said.append(message["type"].replace("websocket.", ""))
        await app({"type": "websocket", "path": "/live", "headers": [(b"x-api-key", key)]}, None, send)
        print(*said)

asyncio.run(main())
END
    my ($ended, $said, $complaint) = Headgate::run(60, @python, $script, $daemon->{ports}{http});
    is(join(' ', split ' ', $said), 'accept accept accept close close', 'handshakes are requests: counted, and refused')
        or diag($complaint);
    $daemon->stop;
};

middleware('express', "@node -e 'require(\"express\"); fetch'", 'headgate_express.js',
           ['application.js', <<'END'], @node);
const [port, daemonPort, mode] = process.argv.slice(2);
const app = require('express')();
app.use(require('./headgate_express')({service: 'shop', address: `http://127.0.0.1:${daemonPort}`, timeoutMs: 5000,
                                       closed: mode === 'closed',
                                       identify: (request) => ({api_key: request.get('x-api-key')})}));
app.use((request, response) => response.type('text').send(`the application has ${request.path}\n`));
app.listen(Number(port), '127.0.0.1');
END

application();

gateway('nginx', 'nginx', 'nginx.conf', sub {
    my ($daemon, $place) = @_;
    Headgate::write_file("$place/headgate.conf", moved('nginx.conf', $daemon));
    Headgate::write_file("$place/nginx.conf", <<"END");
daemon off;
pid $place/pid;
error_log stderr;
@{[$> == 0 ? 'user root;' : '']}
events {}
http {
    access_log off;
    client_body_temp_path $place/body;
    proxy_temp_path $place/proxy;
    fastcgi_temp_path $place/fastcgi;
    uwsgi_temp_path $place/uwsgi;
    scgi_temp_path $place/scgi;
    include $place/headgate.conf;
}
END
    return ('nginx', '-e', 'stderr', '-p', $place, '-c', "$place/nginx.conf");
});

gateway('haproxy', 'haproxy', 'haproxy.cfg', sub {
    my ($daemon, $place) = @_;
    Headgate::write_file("$place/$_", moved($_, $daemon)) for qw(haproxy.cfg haproxy.lua);
    return ('haproxy', '-db', '-C', $place, '-f', "$place/haproxy.cfg");
});

gateway('caddy', 'caddy', 'Caddyfile', sub {
    my ($daemon, $place) = @_;
    Headgate::write_file("$place/Caddyfile", "{\n\tadmin off\n\tauto_https off\n}\n" . moved('Caddyfile', $daemon));
    return ('env', "HOME=$place", "XDG_DATA_HOME=$place", "XDG_CONFIG_HOME=$place", 'caddy', 'run', '--config',
            "$place/Caddyfile", '--adapter', 'caddyfile');
});

gateway('apache', 'apache2', 'apache.conf', sub {
    my ($daemon, $place) = @_;
    Headgate::write_file("$place/apache.lua", moved('apache.lua', $daemon));
    my $conf = moved('apache.conf', $daemon) =~ s{/etc/headgate/}{$place/}r;
    my $modules = '/usr/lib/apache2/modules';
    my $loads = join '', map { "LoadModule ${_}_module $modules/mod_$_.so\n" }
        qw(mpm_event authz_core lua proxy proxy_http);
    Headgate::write_file("$place/apache2.conf", <<"END");
ServerRoot $place
ServerName gateway
PidFile $place/pid
ErrorLog $place/errors
DefaultRuntimeDir $place
Mutex posixsem
${loads}${conf}
END
    return ('apache2', '-X', '-f', "$place/apache2.conf");
});

done_testing();
