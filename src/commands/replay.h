/*
 * replay: answers that are remembered by an idempotency key, so that a request that is sent again is not charged again.
 *
 * The one idea: only requests that took or gave something are remembered; a refused one is decided anew, since that
 * costs nothing and its client may have waited. A key of a user stands for one request: the same key with another
 * request is a mistake of the client. All threads of a daemon share one table of fixed size; other daemons know nothing
 * of it. Its bytes can be kept over a restart.
 *
 * When all places of a key's row are taken, an answer is forgotten before its time, and counted: a request is rather
 * charged twice then than refused. It is the oldest one of the user who has most places in the row.
 */
#ifndef HEADGATE_COMMANDS_REPLAY_H
#define HEADGATE_COMMANDS_REPLAY_H

#include "base/bytes.h"
#include "base/hash.h"
#include "commands/verdict_report.h"

enum {
    REPLAY_KEY_MAX_BYTES = 128,
    REPLAY_ROWS = 8192, /* a power of two */
    REPLAY_ROW_PLACES = 8,
};
#define REPLAY_KEY_EXPECTED "expected 1 to 128 bytes of ASCII without blanks at its ends"
#define REPLAY_OTHER_KEY "was used for another request: expected a key of its own for each request"
#define REPLAY_NS 600000000000u /* for so long an answer is remembered, from the first one on */

/* What is remembered of an answer: what it takes to give it again. */
struct replay_answer {
    char rule[LIMIT_NAME_BYTES]; /* the rule that decided; "": none */
    struct verdict_figures figures;
    int64_t window_ms;
    bool over_limit;                          /* of a soft rule */
    uint64_t number;                          /* of a refund */
    char reservation[RESERVATION_TEXT_BYTES]; /* of a reservation */
};

/* Notes what a client was told of a request that was allowed; the number and the reservation stay. */
void replay_note(struct replay_answer *answer, const struct verdict_report *report);
/* What the client was told, with the rule's name in `answer`. */
struct verdict_report replay_report(const struct replay_answer *answer);

struct replays;

/* NULL: memory is short. `key` hashes what clients send. */
struct replays *replays_create(const struct hash_key *key);
void replays_destroy(struct replays **replays);

/* A request that has a key. While it is open, its row is locked: it must be closed soon, by the same thread. */
struct replay {
    struct replays *replays;
    struct key_id id;
    uint64_t request, owner;
    uint32_t row, place;
};

enum replay_status {
    REPLAY_NEW,   /* decide it, then close the replay */
    REPLAY_KNOWN, /* `answer` is the first one's; nothing is open */
    REPLAY_OTHER, /* the key was used for another request; nothing is open */
};
/*
 * A key is its user's own: others may have the same. `request` names the request: equal requests have equal numbers.
 */
enum replay_status replay_open(struct replay *replay, struct replays *replays, const struct user *user,
                               struct bytes key, uint64_t request, uint64_t now_ns, struct replay_answer *answer);
/* `answer` is to be remembered; NULL: nothing is. True: another answer was forgotten for it before its time. */
bool replay_close(struct replay *replay, const struct replay_answer *answer, uint64_t now_ns);
/* Whether clients may send such a key: REPLAY_KEY_EXPECTED. */
bool replay_is_key(struct bytes key);
/* The request as a number, by what it asks and not by its words. `operation`: such as "check", in every protocol. */
uint64_t replay_request(const struct hash_key *key, const char *operation, const struct command_query *query);
/* Whether the key is in use for another request. Opens nothing. */
bool replay_is_other(struct replays *replays, const struct user *user, struct bytes key, uint64_t request,
                     uint64_t now_ns);

/* ---- over a restart: replay_kept.c ---- */

/* The most bytes that replays_keep writes. */
size_t replays_kept_most(void);
/*
 * Writes all answers that are remembered, and returns the size; 0: there are none. `bytes` has room for
 * replays_kept_most.
 */
size_t replays_keep(struct replays *replays, char *bytes, uint64_t now_ns, uint64_t wall_ns);
/*
 * Remembers what replays_keep has written, each answer until its time is over. Without `reservations` those of
 * reservations are left out: they have ended, and whoever asks again needs another one. Returns how many these are; -1:
 * the bytes are not as they were written, or of another release, and none is.
 */
int64_t replays_recall(struct replays *replays, struct bytes bytes, bool reservations, uint64_t now_ns,
                       uint64_t wall_ns);

#endif
