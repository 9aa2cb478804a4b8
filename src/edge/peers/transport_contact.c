/*
 * transport_contact waits for names to be resolved and for the other side. What the other side has sent
 * is printed only as far as it looks like the name of a member.
 */
#include "edge/peers/transport_contact.h"

#include "base/host_port.h"
#include "edge/peers/transport_tls.h"
#include "edge/process/background.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum {
    CONNECT_MS = 2000,
    GREETING_MS = 500, /* whoever speaks in clear greets at once */
    ANSWER_S = 2,
};

/* ---- the connection ---- */

static bool is_ready(int fd, short events, int timeout_ms)
{
    struct pollfd ready = {.fd = fd, .events = events};
    return poll(&ready, 1, timeout_ms) == 1;
}

static int connect_one(const struct addrinfo *to)
{
    const int fd = socket(to->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    int failed = 0;
    socklen_t size = sizeof failed;
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)connect(fd, to->ai_addr, to->ai_addrlen);
    if (is_ready(fd, POLLOUT, CONNECT_MS) && getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &size) == 0 &&
        failed == 0)
        return fd;
    (void)close(fd);
    return -1;
}

/* -1: nobody is there. */
static int connect_to(const char *address)
{
    char host[CONTACT_ADDRESS_BYTES], port[PORT_TEXT_BYTES];
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (!host_port_split(address, host, sizeof host, port) || getaddrinfo(host, port, &wanted, &found) != 0)
        return -1;
    int fd = -1;
    for (const struct addrinfo *at = found; at != NULL && fd < 0; at = at->ai_next)
        fd = connect_one(at);
    freeaddrinfo(found);
    return fd;
}

/* Whoever speaks TLS waits for the other side. */
static bool greets_in_clear(int fd)
{
    char bytes[4];
    return is_ready(fd, POLLIN, GREETING_MS) && recv(fd, bytes, sizeof bytes, MSG_PEEK) == sizeof bytes &&
           memcmp(bytes, "\0SP", sizeof bytes) == 0;
}

static bool set_blocking(int fd, bool blocks)
{
    const struct timeval most = {.tv_sec = ANSWER_S};
    const int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, blocks ? flags & ~O_NONBLOCK : flags | O_NONBLOCK) == 0 &&
           setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most) == 0 &&
           setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most) == 0;
}

/* ---- sentences ---- */

__attribute__((format(printf, 3, 4))) static void find(struct contact *contact, enum contact_finding found,
                                                       const char *format, ...)
{
    va_list arguments;
    const int used = snprintf(contact->sentence, sizeof contact->sentence, "cannot hear %s at %s: ", contact->name,
                              contact->address);
    va_start(arguments, format);
    (void)vsnprintf(contact->sentence + used, sizeof contact->sentence - (size_t)used, format, arguments);
    va_end(arguments);
    contact->found = found;
}

/* False: the other side is not the member. */
static bool judge_certificate(struct contact *contact, const SSL *ssl)
{
    char names[TRANSPORT_NAMES_BYTES];
    const long result = SSL_get_verify_result(ssl);
    const char *why = X509_verify_cert_error_string(result);
    const X509 *certificate = SSL_get0_peer_certificate(ssl);
    if (result == X509_V_ERR_CERT_HAS_EXPIRED || result == X509_V_ERR_CERT_NOT_YET_VALID) {
        find(contact, CONTACT_OUTDATED,
             "its certificate is not valid now (%s): expected another one there, or the right time", why);
        return false;
    }
    if (result != X509_V_OK || certificate == NULL) {
        find(contact, CONTACT_UNTRUSTED, "its certificate is not signed by an authority in peers_tls.ca here (%s)",
             why);
        return false;
    }
    transport_tls_names(certificate, names);
    if (transport_tls_is(names, contact->name))
        return true;
    find(contact, CONTACT_OTHER_NAME, "its certificate is for %s: expected one for %s",
         names[0] ? names : "no member", contact->name);
    return false;
}

static const char *alert(void)
{
    const unsigned long error = ERR_peek_error();
    return ERR_GET_LIB(error) == ERR_LIB_SSL && ERR_GET_REASON(error) > SSL_AD_REASON_OFFSET
               ? ERR_reason_error_string(error)
               : NULL;
}

/* Whoever does not take the certificate of this daemon says so after the handshake, and so instead of a greeting. */
static bool is_taken(struct contact *contact, SSL *ssl)
{
    char byte;
    ERR_clear_error();
    if (SSL_peek(ssl, &byte, 1) == 1)
        return true;
    if (alert() != NULL)
        find(contact, CONTACT_REFUSED,
             "it refuses the certificate of this daemon (%s): expected one that its peers_tls.ca has signed, and "
             "that has not ended",
             alert());
    return false;
}

static void ask_in_clear(struct contact *contact)
{
    const int fd = connect_to(contact->address);
    if (fd >= 0 && greets_in_clear(fd))
        find(contact, CONTACT_IN_CLEAR, "it speaks no TLS: expected peers_tls in its config as well");
    if (fd >= 0)
        (void)close(fd);
}

/* ---- the two kinds of contacts ---- */

static void shake_hands(struct contact *contact, int fd)
{
    SSL *ssl = transport_tls_dials(contact->tls);
    ERR_clear_error();
    const bool ready = ssl != NULL && SSL_set_fd(ssl, fd) == 1 && set_blocking(fd, true);
    const bool shook = ready && SSL_connect(ssl) == 1;
    if (shook && judge_certificate(contact, ssl) && is_taken(contact, ssl) && set_blocking(fd, false)) {
        contact->ssl = ssl;
        contact->fd = fd;
        return;
    }
    if (ready && !shook && alert() == NULL)
        ask_in_clear(contact);
    else if (ready && !shook)
        find(contact, CONTACT_REFUSED, "it refuses TLS as this daemon speaks it (%s)", alert());
    SSL_free(ssl);
    (void)close(fd);
}

/* Only who speaks TLS shows a certificate. */
static void look_for_tls(struct contact *contact, int fd)
{
    SSL_CTX *context = greets_in_clear(fd) ? NULL : SSL_CTX_new(TLS_client_method());
    SSL *ssl = context != NULL ? SSL_new(context) : NULL;
    if (ssl != NULL && SSL_set_fd(ssl, fd) == 1 && set_blocking(fd, true)) {
        (void)SSL_connect(ssl);
        if (SSL_get0_peer_certificate(ssl) != NULL)
            find(contact, CONTACT_OVER_TLS,
                 "it speaks TLS: expected peers_tls in the config of this daemon as well");
    }
    SSL_free(ssl);
    SSL_CTX_free(context);
    (void)close(fd);
}

/* ---- the thread ---- */

static void *run(void *argument)
{
    struct contact *contact = argument;
    sigset_t unwanted; /* a write reports that the other side has gone */
    (void)sigemptyset(&unwanted);
    (void)sigaddset(&unwanted, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &unwanted, NULL);
    const int fd = connect_to(contact->address);
    if (fd >= 0 && contact->tls != NULL)
        shake_hands(contact, fd);
    else if (fd >= 0)
        look_for_tls(contact, fd);
    atomic_store(&contact->done, true);
    if (contact->wake_fd >= 0)
        (void)eventfd_write(contact->wake_fd, 1);
    contact_release(&contact);
    return NULL;
}

struct contact *contact_begin(struct transport_tls *tls, const char *name, const char *address, int wake_fd)
{
    struct contact *contact = calloc(1, sizeof *contact);
    pthread_t thread;
    if (contact == NULL)
        return NULL;
    atomic_init(&contact->holders, 2);
    atomic_init(&contact->done, false);
    contact->tls = transport_tls_hold(tls);
    contact->fd = -1;
    contact->wake_fd = wake_fd >= 0 ? fcntl(wake_fd, F_DUPFD_CLOEXEC, 0) : -1;
    (void)snprintf(contact->name, sizeof contact->name, "%s", name);
    (void)snprintf(contact->address, sizeof contact->address, "%s", address);
    const bool background = background_begin();
    const bool started = pthread_create(&thread, NULL, run, contact) == 0;
    if (background)
        background_end();
    if (started) {
        (void)pthread_detach(thread);
        return contact;
    }
    atomic_store(&contact->holders, 1);
    contact_release(&contact);
    return NULL;
}

void contact_release(struct contact **contact)
{
    struct contact *released = *contact;
    *contact = NULL;
    if (released == NULL || atomic_fetch_sub(&released->holders, 1) > 1)
        return;
    SSL_free(released->ssl);
    if (released->fd >= 0)
        (void)close(released->fd);
    if (released->wake_fd >= 0)
        (void)close(released->wake_fd);
    transport_tls_release(&released->tls);
    free(released);
}
