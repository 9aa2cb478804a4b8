/*
 * plane_state: what the rule plane remembers; shared by the files cluster/plane*.c and by nobody else.
 *
 * Three things: the rulebook and what is compiled of it, what peers last advertised, and at most one scan: versions
 * that are being fetched from a peer and are not in force before all of them are here.
 */
#ifndef HEADGATE_CLUSTER_STATE_PLANE_STATE_H
#define HEADGATE_CLUSTER_STATE_PLANE_STATE_H

#include "base/arena.h"
#include "cluster/node.h"
#include "rules/health.h"
#include "rules/ruleset.h"

enum {
    PLANE_SERVICES_DEFAULT = NODE_SERVICES_MAX,
    PLANE_RULES_DEFAULT = 50000,
    PLANE_SERVICE_RULES_DEFAULT = 1000,
    PLANE_HISTORY = 4,       /* a book has room for so many times the rules that may live: deleted ones are kept */
    PLANE_HEALTH_MAX = 1024, /* services whose health is known */
    PLANE_HEALTH_ROWS = 256, /* of them in one advert: the worst */
    PLANE_CANARIES_MAX = 1024,
    PLANE_TRIES_MAX = 4,       /* of one question */
    PLANE_RESTARTS_MAX = 16,   /* of one scan, because its donor's book changed meanwhile */
    PLANE_JOIN_INTERVALS = 50, /* a joining node waits at most so long for rules, or join_timeout */
    PLANE_CANARY_DECISIONS = 100,
    PLANE_OTHERS_WAIT_INTERVALS = 10, /* before they do what a canary's author should have done */
    PLANE_RESULTS_MAX = 64,           /* of operators' changes that are remembered: the last ones */
};

/* What a peer advertised last. */
struct plane_peer {
    uint64_t incarnation, number; /* of the newest advert */
    uint64_t heard_ns;            /* 0: never */
    uint64_t digest, lamport;
    uint64_t differs_since_ns;       /* 0: its book is as ours */
    uint64_t vain_ours, vain_theirs; /* these two digests differ, and asking it gave nothing */
    bool vain;
};

/* Where in the order of versions something stands: everything older is before it. */
struct plane_cursor {
    struct rule_stamp stamp;
    uint64_t digest;
};
#define PLANE_CURSOR_END ((struct plane_cursor){{UINT64_MAX, UINT64_MAX}, UINT64_MAX})

/* What a page says besides its versions. */
struct plane_page {
    uint64_t scan, book_digest, lamport, older_digest;
    struct plane_cursor from, next; /* it has versions older than `from`; what is older than `next` follows */
    bool last;
};

/* A page that is worked on, a slice in each step. */
struct plane_reading {
    bool running;
    struct plane_page page;
    size_t count, room, done;
    struct rule_record *record; /* their texts are in the arena */
    struct arena texts;
};

struct plane_scan {
    bool running;
    bool applies;   /* all of it is here, and on its way into force: see plane_work.h */
    uint32_t donor; /* member */
    uint64_t donor_incarnation;
    uint32_t tries, restarts;
    uint64_t id; /* of this scan: a late page of another one is not ours */
    uint64_t asked_ns, retry_ns;
    uint64_t donor_digest; /* its book, when the first page was made */
    bool has_donor_digest;
    struct plane_cursor cursor;
    struct rulebook *book; /* ours and what came */
    struct plane_reading reading;
    size_t fresh_count, fresh_room;
    struct rule_version **fresh; /* what came, newest first; references */
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
    uint64_t patience_ns; /* others act first for so long */
    uint64_t jump_ns;     /* when too many denials were first seen; 0: they are not */
};

/* What became of an operator's change. */
struct plane_answer {
    uint64_t ticket;
    struct rules_result result;
};

struct plane_work;

struct plane {
    struct rulebook *book;
    struct ruleset *rules;
    uint64_t author;              /* this incarnation's in stamps */
    uint64_t lamport;             /* the largest heard of */
    uint64_t wall_ms, wall_at_ns; /* 0: never told */
    uint64_t number;              /* of adverts */
    uint64_t advertised_ns;       /* last time */
    uint64_t scans;
    bool advert_wanted; /* at once */
    bool told_health;   /* the last advert had rows */
    bool started;
    bool asked; /* a scan of this life was finished: somebody's rules are ours */
    struct plane_peer peer[NODE_PEERS_MAX];
    struct plane_scan scan;
    struct plane_work *work; /* changes: the first one is in work, others wait */
    uint32_t work_count;
    bool worked, has_read; /* on it, and on a page, in this step */
    bool restored;         /* what the store kept is in the book, and not compiled yet */
    uint64_t tickets;
    struct plane_answer answer[PLANE_RESULTS_MAX];
    uint32_t service_count;
    struct plane_service *service[PLANE_HEALTH_MAX];
    uint32_t canary_count;
    struct plane_canary canary[PLANE_CANARIES_MAX];
};

/* No change is on its way into force. */
bool plane_is_idle(const struct node *node);
/* All peers are known to have the same rules, and no service's health is told. */
bool plane_is_at_rest(const struct node *node);

#endif
