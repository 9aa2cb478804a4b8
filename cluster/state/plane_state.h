/*
 * plane_state: the memory of the rule plane; only the files of plane/ change it.
 *
 * Three things: the rulebook with its compiled form, the newest advert of each peer, and at most
 * one scan: versions that are fetched from a peer and come into force when all of them are here.
 */
#ifndef HEADGATE_CLUSTER_STATE_PLANE_STATE_H
#define HEADGATE_CLUSTER_STATE_PLANE_STATE_H

#include "base/arena.h"
#include "cluster/node.h"
#include "rules/health.h"
#include "rules/homes.h"
#include "rules/ruleset.h"

enum {
    PLANE_SERVICES_DEFAULT = NODE_SERVICES_MAX,
    PLANE_RULES_DEFAULT = 50000,
    PLANE_SERVICE_RULES_DEFAULT = 1000,
    /* a book has room for so many times the rules that may live: deleted ones are kept */
    PLANE_HISTORY = 4,
    PLANE_HEALTH_MAX = 1024, /* services whose health is known */
    PLANE_HEALTH_ROWS = 256, /* of them in one advert: the worst */
    PLANE_CANARIES_MAX = 1024,
    PLANE_TRIES_MAX = 4,     /* of one request */
    PLANE_RESTARTS_MAX = 16, /* of one scan, after changes of its donor's book */
    /* a joining node waits so long for rules, or for join_timeout, if that is longer */
    PLANE_JOIN_INTERVALS = 50,
    PLANE_CANARY_DECISIONS = 100,
    /* before other peers do what a canary's author should have done */
    PLANE_OTHERS_WAIT_INTERVALS = 10,
    PLANE_RESULTS_MAX = 64, /* results of operators' changes that are kept: the last ones */
};

/* The newest advert of a peer. */
struct plane_peer {
    uint64_t incarnation, number; /* of the newest advert */
    uint64_t heard_ns;            /* 0: never */
    uint64_t digest, lamport;
    uint64_t differs_since_ns;       /* 0: its book is the same as ours */
    uint64_t vain_ours, vain_theirs; /* these two digests differ, and a scan gave nothing */
    bool vain;
};

/* A place in the order of versions: all older versions are before it. */
struct plane_cursor {
    struct rule_stamp stamp;
    uint64_t digest;
};
#define PLANE_CURSOR_END ((struct plane_cursor){{UINT64_MAX, UINT64_MAX}, UINT64_MAX})

/* A page without its versions. */
struct plane_page {
    uint64_t scan, book_digest, lamport, older_digest;
    /* the page has versions older than `from`; versions older than `next` follow */
    struct plane_cursor from, next;
    bool last;
};

/* A page that is being read, a slice in each step. */
struct plane_reading {
    bool running;
    struct plane_page page;
    size_t count, room, done;
    struct rule_record *record; /* their texts are in the arena */
    struct arena texts;
};

struct plane_scan {
    bool running;
    /* all versions are here, and a change in work brings them into force: see plane_work.h */
    bool applies;
    uint32_t donor; /* member */
    uint64_t donor_incarnation;
    uint32_t tries, restarts;
    uint64_t id; /* of this scan: late pages of other scans are ignored */
    uint64_t asked_ns, retry_ns;
    uint64_t donor_digest; /* of its book, when the first page was made */
    bool has_donor_digest;
    struct plane_cursor cursor;
    struct rulebook *book; /* our book with the versions that came */
    struct plane_reading reading;
    size_t fresh_count, fresh_room;
    struct rule_version **fresh; /* the new versions, newest first; references */
};

struct plane_service {
    char name[RULE_NAME_MAX_BYTES + 1];
    struct health own;
    struct health heard[NODE_PEERS_MAX]; /* by member */
    uint32_t scale;                      /* in force */
};

struct plane_canary {
    char service[RULE_NAME_MAX_BYTES + 1], id[RULE_NAME_MAX_BYTES + 1];
    struct rule_stamp stamp;
    uint64_t since_ns;
    uint64_t patience_ns; /* other peers act first for so long */
    uint64_t jump_ns;     /* when too many denials were first seen; 0: not now */
};

/* The result of an operator's change. */
struct plane_answer {
    uint64_t ticket;
    struct rules_result result;
};

struct plane_work;

struct plane {
    struct rulebook *book;
    struct ruleset *rules;
    struct homes homes;           /* of the regions of the config, of rules whose home is by_key */
    uint64_t author;              /* this incarnation's author in stamps */
    uint64_t lamport;             /* the largest heard of */
    uint64_t wall_ms, wall_at_ns; /* 0: unknown */
    uint64_t number;              /* of adverts */
    uint64_t advertised_ns;       /* when the last advert was made */
    uint64_t scans;
    bool advert_wanted; /* an advert is due at once */
    bool started;
    bool asked; /* a scan of this life was finished */
    struct plane_peer peer[NODE_PEERS_MAX];
    struct plane_scan scan;
    struct plane_work *work; /* changes: the first one is in work, the others wait */
    uint32_t work_count;
    bool worked, has_read; /* this step has worked on a change; has read a page */
    bool restored;         /* the book has versions of the store that are not compiled yet */
    uint64_t tickets;
    struct plane_answer answer[PLANE_RESULTS_MAX];
    uint32_t service_count;
    struct plane_service *service[PLANE_HEALTH_MAX];
    uint32_t canary_count;
    struct plane_canary canary[PLANE_CANARIES_MAX];
};

/* Milliseconds since 1970; 0: unknown. */
static inline uint64_t plane_wall_ms(const struct plane *plane, uint64_t now_ns)
{
    return plane->wall_ms > 0 ? plane->wall_ms + (now_ns - plane->wall_at_ns) / 1000000 : 0;
}

/* True if no change is in work. */
bool plane_is_idle(const struct node *node);
/* True if all peers are known to have the same rules, and no service reports health. */
bool plane_is_at_rest(const struct node *node);

#endif
