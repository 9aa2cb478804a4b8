/* Transports that speak TLS to each other: who hears whom, and what is said of those who cannot be heard. */
#include "tests/lib/transport_peers.h"

#include "edge/peers/endpoint.h"
#include "edge/process/certificate.h"

#include <dirent.h>
#include <nng/nng.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { PATH_BYTES = 160, DAY_S = 86400, OTHERS = 3 };

static struct peer *const all[] = {&a, &b, &c, &hasty, &others[0], &others[1], &others[2]};

enum { PEERS = sizeof all / sizeof all[0] };

static char directory[] = "/tmp/headgate-tls-XXXXXX";

static struct peer *const outdated = &others[0], *const stranger = &others[1], *const doubted = &others[2];
static struct peer *const plain = &c; /* it speaks no TLS */

/* ---- certificates ---- */

static const char *path(char room[PATH_BYTES], const char *name, const char *end)
{
    (void)snprintf(room, PATH_BYTES, "%s/%s.%s", directory, name, end);
    return room;
}

static void give_up(const char *why)
{
    printf("Bail out! %s\n", why);
    exit(EXIT_FAILURE);
}

/* `authority` NULL: it becomes one. */
static void certify(const char *name, const char *member, const char *authority, int64_t ends_s)
{
    char certificate[PATH_BYTES], key[PATH_BYTES], signer[PATH_BYTES], signer_key[PATH_BYTES];
    const char *const hosts[] = {member, NULL};
    struct error error = {0};
    struct certificate_options options = {.name = member,
                                          .hosts = authority ? hosts : NULL,
                                          .begins_s = -2 * DAY_S,
                                          .ends_s = ends_s,
                                          .to = {path(certificate, name, "pem"), path(key, name, "key")}};
    if (authority)
        options.signer =
            (struct certificate_files){path(signer, authority, "pem"), path(signer_key, authority, "key")};
    if (!certificate_make(&options, &error))
        give_up(error.text);
}

static struct transport_tls *try_tls(const char *ca, const char *certificate, const char *key, const char *member,
                                     struct tls_fault *fault)
{
    char paths[OTHERS][PATH_BYTES];
    const struct transport_tls_files files = {.ca = path(paths[0], ca, "pem"),
                                              .certificate = path(paths[1], certificate, "pem"),
                                              .key = path(paths[2], key, "key")};
    return transport_tls_create(&files, member, fault);
}

static struct transport_tls *tls_of(const char *ca, const char *name, const char *member)
{
    struct tls_fault fault = {0};
    struct transport_tls *tls = try_tls(ca, name, name, member, &fault);
    if (!tls)
        give_up(fault.expected);
    return tls;
}

static void refuses(const char *ca, const char *certificate, const char *key, const char *member,
                    const char *of_member, const char *expected)
{
    struct tls_fault fault = {0};
    struct transport_tls *tls = try_tls(ca, certificate, key, member, &fault);
    OK(!tls && strcmp(fault.member, of_member) == 0 && strstr(fault.expected, expected), "%s of %s in %s: %s",
       certificate, member, ca, tls ? "taken" : fault.expected);
    transport_tls_release(&tls);
}

static void remove_files(void)
{
    char room[2 * PATH_BYTES];
    DIR *made = opendir(directory);
    for (const struct dirent *at = made ? readdir(made) : NULL; at; at = readdir(made)) {
        (void)snprintf(room, sizeof room, "%s/%.100s", directory, at->d_name);
        (void)unlink(room);
    }
    if (made)
        (void)closedir(made);
    (void)rmdir(directory);
}

static void append(const char *to, const char *from)
{
    char room[PATH_BYTES], text[4096];
    FILE *in = fopen(path(room, from, "pem"), "r");
    const size_t size = in ? fread(text, 1, sizeof text, in) : 0;
    FILE *out = fopen(path(room, to, "pem"), "a");
    assert(in && out && size > 0);
    (void)fwrite(text, 1, size, out);
    (void)fclose(in);
    (void)fclose(out);
}

static void make_files(void)
{
    assert(mkdtemp(directory));
    certify("ca", "headgate CA", NULL, 3 * DAY_S);
    certify("brief-ca", "an authority that ends before what it signs", NULL, DAY_S / 2);
    certify("outlives", "a", "brief-ca", DAY_S);
    certify("other-ca", "another CA", NULL, DAY_S);
    certify("a", "a", "ca", DAY_S);
    certify("a-new", "a", "ca", 2 * DAY_S);
    certify("b", "b", "ca", DAY_S);
    certify("hasty", "hasty", "ca", DAY_S);
    certify("old", "b", "ca", -DAY_S);
    certify("stranger", "stranger", "other-ca", DAY_S);
    certify("doubted", "doubted", "other-ca", DAY_S);
    append("both", "ca");
    append("both", "other-ca");
}

static void files(void)
{
    char room[PATH_BYTES];
    refuses("none", "a", "a", "a", "ca", "No such file or directory");
    refuses("ca", "none", "a", "a", "certificate", "No such file or directory");
    refuses("ca", "a", "b", "a", "key", "the key of the certificate");
    refuses("ca", "stranger", "stranger", "stranger", "certificate", "a certificate that an authority in ");
    refuses("ca", "a", "a", "b", "certificate", "a certificate for b, as this node is called");
    (void)chmod(path(room, "a", "key"), 0644);
    refuses("ca", "a", "a", "a", "key", "a file that others cannot read");
    (void)chmod(room, 0600);
    struct transport_tls *one = tls_of("ca", "a", "a"), *two = tls_of("ca", "a", "a"),
                         *new = tls_of("ca", "a-new", "a"), *old = tls_of("ca", "old", "b"),
                         *wider = tls_of("both", "a", "a");
    OK(transport_tls_same(one, two) && !transport_tls_same(one, new) && !transport_tls_same(one, wider),
       "the same files are the same");
    OK(transport_tls_span(new).ends_s - transport_tls_span(one).ends_s >= DAY_S,
       "the ends of certificates are known");
    struct transport_tls *brief = tls_of("brief-ca", "outlives", "a");
    OK(transport_tls_span(one).ends_s - transport_tls_span(brief).ends_s >= DAY_S / 4,
       "with its authority a certificate ends for peers");
    transport_tls_release(&brief);
    OK(transport_tls_span(old).ends_s < transport_tls_span(one).ends_s,
       "one that has ended is taken: peers will refuse it");
    transport_tls_release(&one);
    transport_tls_release(&two);
    transport_tls_release(&new);
    transport_tls_release(&old);
    transport_tls_release(&wider);
}

/* ---- peers that understand each other ---- */

static bool a_heard(void)
{
    return a.messages > 0;
}
static bool a_heard_the_largest(void)
{
    return a.last_size == MESSAGE_MAX;
}
static bool a_was_answered(void)
{
    return a.responses > 0;
}
static bool b_is_closed(void)
{
    return b.closed;
}
static bool a_heard_the_last(void)
{
    return a.last_size == strlen("the last word");
}

static void b_says_something(void)
{
    peers_say(&b, "b");
}

static void understanding(void)
{
    OK(transport_certificate_ends_s(a.transport) == transport_tls_span(a.tls).ends_s,
       "the transport knows the end, too");
    OK(transport_connect(a.transport, "b", b.gossip), "a listens to b");
    OK(run_until(a_heard, b_says_something), "and hears it");
    OK_STRING(a.from, "b", "whose name the certificate has proved");
    a.from[0] = '\0';
    transport_request(a.transport, "b", b.snapshots, bytes_of("hello"));
    OK(run_until(a_was_answered, NULL), "a asks b");
    OK_STRING(a.last, "you said hello", "and is answered");
    OK_STRING(a.from, "b", "by b");
    OK_STRING(b.from, "a", "who knows that it was a");
    static char large[MESSAGE_MAX];
    transport_publish(b.transport, (struct bytes){large, sizeof large});
    OK(run_until(a_heard_the_largest, NULL), "a message of many records comes whole");
}

static uint64_t refused_before;
static bool a_refused_some(void)
{
    return transport_stats(a.transport).connections_refused >= refused_before + 3;
}

/* Who comes while there are no descriptors waits, and the thread does not turn for him all the time. */
static void no_descriptors(void)
{
    enum { FILES = 1300 }; /* poll wants the limit above the places of the tunnel */
    struct rlimit before, none;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    address.sin_port = htons((uint16_t)strtoul(strchr(a.gossip, ':') + 1, NULL, 10));
    int failed = getrlimit(RLIMIT_NOFILE, &before);
    none = before;
    none.rlim_cur = FILES;
    if (failed != 0 || before.rlim_max < FILES || setrlimit(RLIMIT_NOFILE, &none) != 0) {
        tap_skip("no descriptors", "the limit of descriptors is too low here");
        return;
    }
    const int guest = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), first = dup(guest);
    while (dup(guest) >= 0)
        ;
    refused_before = transport_stats(a.transport).connections_refused;
    const uint64_t began_ns = uv_hrtime();
    failed |= connect(guest, (const struct sockaddr *)&address, sizeof address);
    assert(failed == 0 && first > guest);
    OK(run_until(a_refused_some, NULL), "a stranger waits while there are no descriptors");
    OK(uv_hrtime() - began_ns > 150000000, "and is looked after now and then only");
    for (int fd = first; fd < FILES; fd++)
        if (endpoint_local(fd).port == endpoint_local(guest).port)
            (void)close(fd);
    (void)close(guest);
    (void)setrlimit(RLIMIT_NOFILE, &before);
}

static void renewing(void)
{
    struct transport_tls *next = tls_of("ca", "a-new", "a");
    OK(transport_connect(b.transport, "a", a.gossip) && run_until(b_heard_again, a_says_something), "b hears a");
    a.messages = b.messages = a.responses = 0;
    transport_renew(a.transport, next);
    OK_U64(transport_certificate_ends_s(a.transport), transport_tls_span(next).ends_s,
           "a shows another certificate");
    OK(run_until(a_heard, b_says_something), "and hears b again");
    OK(run_until(b_heard_again, a_says_something), "as b hears it");
    transport_request(a.transport, "b", b.snapshots, bytes_of("still there?"));
    OK(run_until(a_was_answered, NULL), "and is answered");
    OK_U64(transport_stats(a.transport).ports_reopened, 0, "no port is called deaf for that");
    const uint64_t links = transport_stats(a.transport).links;
    OK(transport_connect(a.transport, "c", b.gossip), "whoever says that another is at b's address");
    OK_U64(transport_stats(a.transport).links, links + 1, "does not take b's place");
    transport_disconnect(a.transport, "c", b.gossip);
    transport_tls_release(&a.tls);
    a.tls = next;
}

/* ---- peers that do not ---- */

static bool hasty_told(void)
{
    return hasty.warnings > 0;
}
static bool doubted_told(void)
{
    return doubted->warnings > 0;
}
static bool plain_told(void)
{
    return plain->warnings > 0;
}
static uint64_t redials_before;
static bool hasty_redialled(void)
{
    return transport_stats(hasty.transport).redials >= redials_before + 3;
}

/* In some turns only, so that the loop has others to turn in. */
static void everybody_speaks(void)
{
    static unsigned turns;
    if (turns++ % 16 > 0)
        return;
    for (size_t i = 0; i < PEERS; i++)
        peers_say(all[i], "x");
}

/* hasty listens to somebody whom it must not hear, and says why it does not. */
static void unheard(struct peer *whom, const char *name, const char *why)
{
    hasty.messages = hasty.warnings = 0;
    (void)transport_connect(hasty.transport, name, whom->gossip);
    OK(run_until(hasty_told, everybody_speaks), "hasty cannot hear %s", name);
    char start[200];
    (void)snprintf(start, sizeof start, "cannot hear %s at %s: ", name, whom->gossip);
    OK(strncmp(hasty.warning, start, strlen(start)) == 0 && strstr(hasty.warning, why), "it says: %s",
       hasty.warning);
    transport_disconnect(hasty.transport, name, whom->gossip);
}

static void misunderstanding(void)
{
    unheard(&b, "c", "its certificate is for b: expected one for c");
    unheard(stranger, "stranger", "its certificate is not signed by an authority in peers_tls.ca here");
    unheard(plain, "plain", "it speaks no TLS: expected peers_tls in its config as well");
    unheard(outdated, "b", "its certificate is not valid now (certificate has expired)");
    OK_U64(hasty.messages, 0, "and hears none of them");
    redials_before = transport_stats(hasty.transport).redials;
    hasty.warnings = 0;
    (void)transport_connect(hasty.transport, "c", b.gossip);
    OK(run_until(hasty_redialled, everybody_speaks), "hasty dials b again and again, for another");
    OK_U64(hasty.warnings, 1, "it says so once, however often it dials");
    transport_disconnect(hasty.transport, "c", b.gossip);

    (void)transport_connect(doubted->transport, "b", b.gossip);
    OK(run_until(doubted_told, everybody_speaks), "who shows b a certificate of another authority cannot hear it");
    OK(strstr(doubted->warning, "it refuses the certificate of this daemon (tlsv1 alert unknown ca)"),
       "it says: %s", doubted->warning);
    (void)transport_connect(plain->transport, "b", b.gossip);
    OK(run_until(plain_told, everybody_speaks), "nor can who speaks no TLS");
    OK(strstr(plain->warning, "it speaks TLS: expected peers_tls in the config of this daemon as well"),
       "it says: %s", plain->warning);
    OK_U64(doubted->messages + plain->messages, 0, "neither hears anything");
}

/* What b said last waits here when its connection is long gone. */
static void the_last_word(void)
{
    a.lazy = true;
    a.last_size = 0;
    a.from[0] = '\0';
    peers_say(&b, "the last word");
    transport_destroy(&b.transport, on_closed, &b.closed);
    OK(run_until(b_is_closed, NULL), "b says a last word, and is gone");
    a.lazy = false;
    OK(run_until(a_heard_the_last, NULL), "which a hears later");
    OK_STRING(a.from, "b", "and knows whose it was");
}

/* ---- all ---- */

static bool all_closed(void)
{
    bool closed = true;
    for (size_t i = 0; i < PEERS; i++)
        closed &= all[i]->closed;
    return closed;
}

static void open_all(void)
{
    a.tls = tls_of("ca", "a", "a");
    b.tls = tls_of("ca", "b", "b");
    hasty.tls = tls_of("ca", "hasty", "hasty");
    outdated->tls = tls_of("ca", "old", "b");
    stranger->tls = tls_of("other-ca", "stranger", "stranger");
    doubted->tls = tls_of("both", "doubted", "doubted");
    for (size_t i = 0; i < PEERS; i++)
        peer_open(all[i]);
}

static void close_all(void)
{
    for (size_t i = 0; i < PEERS; i++)
        if (all[i]->transport)
            transport_destroy(&all[i]->transport, on_closed, &all[i]->closed);
    OK(run_until(all_closed, NULL), "all close");
    while (uv_run(&peers_loop, UV_RUN_NOWAIT) != 0)
        ;
    OK(uv_loop_close(&peers_loop) == 0, "and leave nothing in the loop");
    for (size_t i = 0; i < PEERS; i++)
        transport_tls_release(&all[i]->tls);
}

int main(void)
{
    srand((unsigned)getpid());
    (void)uv_loop_init(&peers_loop);
    make_files();
    files();
    doubted->hasty = true;
    plain->hasty = true;
    open_all();
    understanding();
    no_descriptors();
    renewing();
    misunderstanding();
    the_last_word();
    close_all();
    nng_fini();
    remove_files();
    return tap_done();
}
