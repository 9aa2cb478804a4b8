/*
 * fake_daemon: a thread that plays a daemon to the client of several daemons.
 *
 * The one idea: it answers in one of a few manners, which the test changes while it runs, and counts what it hears.
 */
#ifndef HEADGATE_TESTS_LIB_FAKE_DAEMON_H
#define HEADGATE_TESTS_LIB_FAKE_DAEMON_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum manner {
    ANSWERS,
    SILENT, /* hears, and says nothing */
    DROPS,  /* hears, and closes */
    LOADING,
    REFUSES, /* says that the words are wrong */
    BABBLES, /* answers in another form */
    REPEATS, /* answers twice */
    GUARDED, /* wants AUTH first */
    SLOW,    /* never answers AUTH */
    JOINS,   /* has no share yet, and refuses */
    FORGETS, /* hears, and closes; then answers */
    PAUSES,  /* hears, and says nothing; then answers */
};

enum { FAKE_CLIENTS_MAX = 8, FAKE_KEY_BYTES = 64 };

struct fake {
    pthread_t thread;
    int listener;
    char address[64];
    _Atomic enum manner manner;
    atomic_bool ends, shuts; /* shuts: closes its connections once */
    atomic_uint checks, peeks, connections, looks;
    void (*_Atomic around)(bool answered); /* NULL, or called by the thread before and after each verdict */
    int client[FAKE_CLIENTS_MAX];
    bool greeted[FAKE_CLIENTS_MAX];
    uint32_t count;
    char key[2][FAKE_KEY_BYTES]; /* of the last two requests, the newer one first; read when all is answered */
};

/* Listens at `port`, or at any if it is 0. */
void fake_open(struct fake *fake, enum manner manner, uint16_t port);
void fake_close(struct fake *fake);
uint16_t fake_port(const struct fake *fake);

#endif
