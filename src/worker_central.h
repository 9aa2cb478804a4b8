/*
 * worker_central: one worker's links to the central store, while settings of the store change.
 *
 * The one idea: settings that were read again get a link of their own. The link before decides until the store of the
 * new one answers, so that a wrong password costs nothing. Then the new one decides, and the old one stays until
 * nothing is on its way there: what a store has granted goes back to that store. The worker's thread makes all calls.
 */
#ifndef HEADGATE_WORKER_CENTRAL_H
#define HEADGATE_WORKER_CENTRAL_H

#include "base/error.h"
#include "edge/central/central_link.h"
#include "edge/central/central_told.h"
#include "edge/settings/central_settings.h"

#include <stdbool.h>
#include <stdint.h>

struct commands;

/* A link and the settings that its options point to. */
struct central_place {
    struct central_settings settings;
    struct central_link *link; /* NULL: the place is free */
    uint64_t since_ns;
    bool closing;
};

enum { CENTRAL_PLACES = 3 };

struct worker_central {
    /* set by the worker before worker_central_connect */
    struct commands *commands; /* ask the store that decides */
    struct log *log;
    void (*news)(void *context); /* see struct central_wire */
    void *context;

    uv_loop_t *loop;
    struct central_place place[CENTRAL_PLACES];
    struct central_place *now;      /* decides; NULL: there is no central store */
    struct central_place *next;     /* is to decide, and has not answered yet */
    struct central_place *before;   /* has decided, and still has something on its way, or closes */
    struct central_settings wanted; /* those of the config */
    struct central_told told;       /* why `next` does not answer */
    bool tells;                     /* the log hears of it */
    uv_timer_t watch;               /* runs while there is something to do */
};

void worker_central_init(struct worker_central *central, uv_loop_t *loop);
/* Begins to connect to the central store. `tells`: the log says when the store is up or down. */
bool worker_central_connect(struct worker_central *central, const struct central_settings *settings, bool tells,
                            struct error *error);
/* Goes over to these settings, if they are others. There must be a central store. */
void worker_central_change(struct worker_central *central, const struct central_settings *settings);
/* All that waits fails, and the handles of the links begin to close. */
void worker_central_stop(struct worker_central *central);
/* The last handle begins to close. */
void worker_central_close(struct worker_central *central);
/* After the loop has run to its end. */
void worker_central_destroy(struct worker_central *central);

#endif
