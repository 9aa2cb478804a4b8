/*
 * takeover: the model of a takeover: what may happen to the rights of three peers.
 *
 * The one idea: time is abstract. A timer is a bit that may end at any moment, and the protocol's margins are
 * guards between such bits ("whoever disowns a peer has let its lease end first"), so every speed of every clock
 * within the margins is tried. A message is heard whenever that may be, or never. The model knows nothing of tokens:
 * its laws say who must wait for whom. docs/notebook/takeover.md has the protocol in words.
 */
#ifndef HEADGATE_TESTS_MODEL_TAKEOVER_H
#define HEADGATE_TESTS_MODEL_TAKEOVER_H

#include <stdbool.h>
#include <stdint.h>

enum { PEERS = 3 };
enum state { DOWN, JOINING, ACTIVE };
/* What a peer says of another one's right. Between the two others it says nothing. */
enum saying { OWNS, DISOWNS, SAYS_NOTHING };

/* What p remembers of q. */
struct link {
    unsigned incarnation; /* of q, as p knows; 0: never heard in this process */
    bool gone;            /* q's incarnation is over: p hears it no more */
    bool agreed;          /* a majority has recorded that: p does not wait for q, and settles without it */
    enum saying saying;
    bool lease;     /* q has renewed p's right, and that has not ended */
    bool word;      /* q's word that it disowns the third peer is fresh here */
    bool lacks;     /* q has settled something without p that p's figures lack */
    bool unchanged; /* q has not started anew since p's right lapsed */
};

struct peer {
    enum state state;
    unsigned incarnation;
    bool lapsed;    /* its right has ended in this incarnation, and it has not gone on since */
    bool renews;    /* its process runs for so long that all words of its former one have ended */
    bool forgot;    /* it lacks what its former process had settled */
    bool has_state; /* its process has figures: it acted, or has taken a table */
    bool has_table; /* it has taken a table since it began to join */
    struct link of[PEERS];
};

struct world {
    struct peer peer[PEERS];
};

/*
 * Each leaves one rule of the protocol out. The number: of the starts and returns without which no law breaks.
 */
#define PLANTS_LIST(X)                                                                                             \
    X(NONE, 0, "nothing", "")                                                                                      \
    X(RECEIPT, 0, "receipt", "a lease counts from when its renewal is received, and so may outlast the disowning") \
    X(MINORITY, 0, "minority", "whoever disowns a peer takes it over alone")                                       \
    X(RESUME, 0, "resume", "who has lapsed goes on when a majority renews")                                        \
    X(ALONE, 1, "alone", "whoever has the words of a majority settles before a majority has recorded it")          \
    X(LAPSED_TAKES, 1, "lapsed-takes", "whoever has lapsed takes others over, too")                                \
    X(RETURN_EARLY, 1, "return-early", "who returns does not wait until all others renew")                         \
    X(UNCOVERED, 1, "uncovered", "who returns does not wait until it has what the others have spent")              \
    X(CHANGED, 1, "changed", "who has lapsed goes on though others have started anew")                             \
    X(RESTART, 1, "restart", "who starts renews at once")                                                          \
    X(STALE_WORD, 1, "stale-word", "the word of a peer that disowns another counts for ever")
#define PLANT_ENUM(name, starts, text, what) PLANT_##name,
enum plant { PLANTS_LIST(PLANT_ENUM) PLANTS };

struct rules {
    enum plant plant;
    unsigned weight[PEERS];
    unsigned starts_max;      /* starts and returns in one story */
    unsigned incarnation_max; /* of one peer */
};

/* What may happen between two peers, and to one. */
enum pair_step { HEARS, DISOWNS_IT, RELENTS, TAKES_OVER, LEASE_ENDS, WORD_ENDS, TAKES_TABLE, PAIR_STEPS };
enum peer_step { CRASHES, STARTS, BEGINS_TO_RENEW, IS_ACTIVE, GOES_ON, JOINS_AGAIN, PEER_STEPS };
enum { STEPS = PEERS * (PEERS * PAIR_STEPS + PEER_STEPS) };

static inline unsigned step_of_pair(enum pair_step kind, unsigned p, unsigned q)
{
    return p + PEERS * (q + PEERS * (unsigned)kind);
}

static inline unsigned step_of_peer(enum peer_step kind, unsigned p)
{
    return p + PEERS * (PEERS * PAIR_STEPS + (unsigned)kind);
}

struct world takeover_beginning(void);
/* Takes the step and what follows from it at once. False: it is not possible here, and the world is undefined. */
bool takeover_step(const struct rules *rules, struct world *world, unsigned step);
/* `names`: what to call the three peers. */
void takeover_print_step(unsigned step, const char names[PEERS]);
/* NULL: all laws hold. */
const char *takeover_broken_law(const struct world *world);
/* p uses its share, and what it has spent comes back by refill. */
bool takeover_acts(const struct world *world, unsigned p);
/*
 * True if the peers come back when faults are over: all are up and hear each other, nothing ends before its time, and
 * each does by itself what the protocol lets it do. At the end all act, and each waits for all others. Laws hold on
 * the way, or it is false as well.
 */
bool takeover_heals(const struct rules *rules, struct world world);

#endif
