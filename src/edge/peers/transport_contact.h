/*
 * transport_contact: a connection over TLS to a member, or the reason why there is none.
 *
 * The one idea: one function does it all and waits for each part, so it runs in a thread of its own, and
 * says of each failure what an operator has to mend. It finds nothing where the network, or a port
 * without a daemon, is the reason. A contact is given up rather than waited for.
 */
#ifndef HEADGATE_EDGE_PEERS_TRANSPORT_CONTACT_H
#define HEADGATE_EDGE_PEERS_TRANSPORT_CONTACT_H

#include <stdatomic.h>
#include <stdbool.h>

struct transport_tls;
struct ssl_st;

enum { CONTACT_NAME_BYTES = 64, CONTACT_ADDRESS_BYTES = 128, CONTACT_SENTENCE_BYTES = 512 };

enum contact_finding {
    CONTACT_NOTHING,
    CONTACT_IN_CLEAR,   /* the member speaks no TLS, and this daemon does */
    CONTACT_OVER_TLS,   /* the member speaks TLS, and this daemon does not */
    CONTACT_UNTRUSTED,  /* its certificate is of another authority */
    CONTACT_OTHER_NAME, /* its certificate is another member's */
    CONTACT_OUTDATED,   /* its certificate has ended, or has not begun */
    CONTACT_REFUSED,    /* it refuses the certificate of this daemon */
};

struct contact {
    atomic_uint holders;
    atomic_bool done; /* the rest is the thread's before, and nobody changes it after */
    struct transport_tls *tls;
    char name[CONTACT_NAME_BYTES], address[CONTACT_ADDRESS_BYTES];
    struct ssl_st *ssl; /* the connection, which does not block, and its socket; NULL and -1: there is none */
    int fd;
    enum contact_finding found;
    char sentence[CONTACT_SENTENCE_BYTES]; /* a whole one, if something was found */
    int wake_fd; /* an eventfd of the thread's own, which it writes to when it is done; -1: none */
};

/*
 * Dials the member `name` at `address`. `tls` NULL: this daemon speaks in clear, and only wants to know
 * whether the member speaks TLS. `wake_fd`: an eventfd to write to at the end; -1: none. The caller and the thread
 * are the holders. NULL: no memory or thread.
 */
struct contact *contact_begin(struct transport_tls *tls, const char *name, const char *address, int wake_fd);
/* The last holder closes the connection, unless somebody has taken it and put -1 in its place. */
void contact_release(struct contact **contact);

#endif
