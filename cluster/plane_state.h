/*
 * plane_state: what the rule plane remembers; shared by the files cluster/plane*.c and by nobody else.
 *
 * Three things: the rulebook and what is compiled of it, what peers last advertised, and at most one scan: versions
 * that are being fetched from a peer and are not in force before all of them are here.
 */
#ifndef HEADGATE_CLUSTER_PLANE_STATE_H
#define HEADGATE_CLUSTER_PLANE_STATE_H

#include "base/arena.h"
#include "cluster/parts.h"
#include "cluster/plane.h"
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

/* ---- plane_change.c: what operators want, and what becomes of it ---- */
void plane_change(struct node *node, const struct rule_changes *changes, struct effects *effects);
/* One more version of a rule is on its way, made here: `like` says what (NULL: deleted). */
void plane_amend(struct node *node, const struct rulebook_rule *rule, const struct rule_version *like,
                 uint64_t lamport_step, const char *note);

/* ---- plane_compile.c ---- */
/* All services, once: what the store kept. */
void plane_compile_all(struct node *node, struct effects *effects);
/* One version may be tried out beside the other. */
bool plane_counts_by_the_same(const struct rule *a, const struct rule *b);

/* ---- plane_scan.c: fetching what others have ---- */
void plane_scan_step(struct node *node, struct effects *effects);
void plane_scan_abandon(struct plane *plane);
/* That peer's book is known to be another, and it is worth asking. */
bool plane_differs(const struct node *node, uint32_t member);

/* ---- plane_canary.c ---- */
void plane_watch(struct node *node, const struct rule_version *version);
void plane_canary_step(struct node *node, struct effects *effects);

/* ---- plane_health.c ---- */
void plane_health(struct node *node, const struct health_report *report, struct effects *effects);
/* What that member said of a service in its newest advert; services that it does not name are well. */
void plane_health_forget(struct node *node, uint32_t member);
void plane_health_hear(struct node *node, uint32_t member, struct bytes service_name, uint32_t level);
void plane_health_step(struct node *node);
/* After compiling: what is new is scaled, too. */
void plane_health_apply(struct node *node);

/* ---- plane_message.c: bytes ---- */
enum plane_kind { PLANE_ADVERT, PLANE_ASK, PLANE_PAGE, PLANE_KINDS };

/* False: not of the rule plane. True: read, and understood or counted as nonsense. */
bool plane_receive(struct node *node, const struct event *event, struct effects *effects);
void plane_advertise(struct node *node, struct effects *effects);
void plane_ask(struct node *node, struct effects *effects);

/* ---- plane_scan.c again: pages that came ---- */
bool plane_page_expected(const struct plane *plane, uint32_t member, const struct plane_page *page);
/* One of an expected page's; then, when all were taken, the page itself. */
void plane_page_version(struct node *node, const struct rule_record *record);
void plane_page_take(struct node *node, const struct plane_page *page, struct effects *effects);
void plane_heard(struct node *node, uint32_t member, uint64_t digest, uint64_t lamport);

#endif
