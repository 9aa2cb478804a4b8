/*
 * One request, asked of the nearest daemon that is connected, and what is answered where none is.
 */
#include "edge/library/daemons.h"

#include "edge/process/clock.h"

#include <inttypes.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    WORDS_MAX = 64, /* of a request that is sent with a key; none that a daemon takes has as many */
    KEY_BYTES = 64,
    TIMEOUT_MS = 1000,
    TIMEOUT_MAX_MS = 3600000,
    CONNECT_TIMEOUT_MS = 250,
    PAUSE_MIN_MS = 100,
    PAUSE_MAX_MS = 5000,
};

/* ---- life ---- */

static struct headgate_daemons *fail(struct headgate_daemons *daemons, char *error, size_t room,
                                     const char *sentence)
{
    headgate_daemons_destroy(&daemons);
    if (room > 0)
        (void)snprintf(error, room, "%s", sentence);
    return NULL;
}

static const char *wrong_option(const struct headgate_daemons_options *options)
{
    if (!options)
        return "no options are given";
    if (options->address_count < 1 || options->address_count > HEADGATE_DAEMONS_MAX || !options->addresses)
        return "address_count is out of range: expected 1 to 16 addresses";
    for (size_t i = 0; i < options->address_count; i++)
        if (!options->addresses[i])
            return "an address is NULL: expected host:port";
    if (options->client.address)
        return "client.address is given: expected NULL, since addresses has them all";
    if (options->client.timeout_ms > TIMEOUT_MAX_MS || options->connect_timeout_ms > TIMEOUT_MAX_MS ||
        options->pause_min_ms > TIMEOUT_MAX_MS || options->pause_max_ms > TIMEOUT_MAX_MS)
        return "a time is out of range: expected an hour at most";
    if (options->user && !options->password)
        return "user is given without password: expected both";
    if (options->absence > HEADGATE_ABSENCE_LOCAL)
        return "absence is unknown: expected closed, open or local";
    return NULL;
}

static uint32_t or_default(uint32_t value, uint32_t by_default)
{
    return value > 0 ? value : by_default;
}

/* What no other process has. */
static void take_chance(struct headgate_daemons *daemons)
{
    uint64_t seed;
    randombytes_buf(&seed, sizeof seed);
    random_seed(&daemons->random, seed);
    randombytes_buf(daemons->key, sizeof daemons->key);
    daemons->process = getpid();
}

/* Fills what needs no memory of its own. */
static void set(struct headgate_daemons *daemons, const struct headgate_daemons_options *options)
{
    daemons->timeout_ms = or_default(options->client.timeout_ms, TIMEOUT_MS);
    daemons->connect_timeout_ms = or_default(options->connect_timeout_ms, CONNECT_TIMEOUT_MS);
    daemons->pause_min_ms = or_default(options->pause_min_ms, PAUSE_MIN_MS);
    daemons->pause_max_ms = or_default(options->pause_max_ms, PAUSE_MAX_MS);
    if (daemons->pause_max_ms < daemons->pause_min_ms)
        daemons->pause_max_ms = daemons->pause_min_ms;
    daemons->resend = options->resend;
    daemons->absence = options->absence;
    take_chance(daemons);
}

static bool make_links(struct headgate_daemons *daemons, const struct headgate_daemons_options *options)
{
    struct headgate_client_options client = options->client;
    for (size_t i = 0; i < options->address_count; i++) {
        client.address = options->addresses[i];
        struct daemon_link *link = &daemons->link[daemons->count];
        link->client = headgate_client_create(&client);
        link->pause_ms = daemons->pause_min_ms;
        if (!link->client)
            return false;
        daemons->count++;
    }
    return true;
}

static bool make_local(struct headgate_daemons *daemons, const struct headgate_daemons_options *options,
                       char *error, size_t room)
{
    struct headgate_limit limit = options->local;
    limit.name = "local";
    if (options->absence == HEADGATE_ABSENCE_LOCAL)
        daemons->local =
            headgate_limiter_create(&(struct headgate_options){.limits = &limit, .limit_count = 1}, error, room);
    return options->absence != HEADGATE_ABSENCE_LOCAL || daemons->local;
}

struct headgate_daemons *headgate_daemons_create(const struct headgate_daemons_options *options, char *error,
                                                 size_t error_room)
{
    const char *wrong = wrong_option(options);
    if (wrong)
        return fail(NULL, error, error_room, wrong);
    struct headgate_daemons *daemons = calloc(1, sizeof *daemons);
    if (!daemons)
        return fail(NULL, error, error_room, "not enough memory");
    set(daemons, options);
    daemons->user = options->user ? strdup(options->user) : NULL;
    daemons->password = options->password ? strdup(options->password) : NULL;
    if ((options->user && !daemons->user) || (options->password && !daemons->password) ||
        !make_links(daemons, options))
        return fail(daemons, error, error_room, "not enough memory");
    if (!make_local(daemons, options, error, error_room))
        headgate_daemons_destroy(&daemons); /* the limiter said why */
    return daemons;
}

void headgate_daemons_destroy(struct headgate_daemons **daemons)
{
    if (!*daemons)
        return;
    for (size_t i = 0; i < (*daemons)->count; i++)
        headgate_client_destroy(&(*daemons)->link[i].client);
    headgate_limiter_destroy(&(*daemons)->local);
    if ((*daemons)->password)
        explicit_bzero((*daemons)->password, strlen((*daemons)->password));
    free((*daemons)->password);
    free((*daemons)->user);
    free(*daemons);
    *daemons = NULL;
}

const char *headgate_daemons_message(const struct headgate_daemons *daemons)
{
    return daemons->message;
}

/* ---- where no daemon answers ---- */

static int64_t ms_of(uint64_t ns)
{
    return ns == HEADGATE_NEVER ? -1 : (int64_t)(ns / 1000000 + (ns % 1000000 != 0));
}

/* Decides a request of the limiter inside. A cost of 0 only asks. */
static void decide_here(struct headgate_daemons *daemons, size_t count, const char *const *words, bool take,
                        struct headgate_client_verdict *verdict)
{
    const uint64_t cost = words_cost(count, words);
    struct headgate_verdict said;
    const struct headgate_request request = {.value = words[1],
                                             .value_size = strlen(words[1]),
                                             .cost = cost,
                                             .peek = !take || cost == 0};
    verdict->allowed = headgate_check(daemons->local, &request, clock_monotonic_ns(), &said) || cost == 0;
    verdict->limit = said.limit;
    verdict->remaining = said.remaining;
    verdict->retry_after_ms = verdict->allowed ? 0 : ms_of(said.retry_after_ns);
    verdict->reset_after_ms = ms_of(said.reset_after_ns);
}

static void answer_absent(struct headgate_daemons *daemons, size_t count, const char *const *words, bool take,
                          struct headgate_daemons_answer *answer)
{
    *answer = (struct headgate_daemons_answer){.verdict = {.allowed = daemons->absence == HEADGATE_ABSENCE_OPEN,
                                                           .limit = HEADGATE_CLIENT_UNLIMITED,
                                                           .remaining = HEADGATE_CLIENT_UNLIMITED}};
    if (daemons->absence == HEADGATE_ABSENCE_LOCAL)
        decide_here(daemons, count, words, take, &answer->verdict);
}

/* ---- asking ---- */

/* What came of a request that one daemon was asked. */
enum outcome {
    ASKED_ANSWERED,
    ASKED_ERROR,   /* the daemon refused the words */
    ASKED_STRANGE, /* the answer has another form */
    ASKED_NOT_NOW, /* the daemon decides nothing now: another one may be asked */
    ASKED_LOST,    /* sent, and not answered */
    ASKED_UNSENT,  /* the words cannot be sent */
};

/* An error by which a daemon says that it decides nothing now. */
static bool is_not_now(const struct headgate_reply *reply)
{
    return reply->size >= 8 && memcmp(reply->text, "LOADING ", 8) == 0;
}

/* Waits for the reply; NULL: the connection ended, or the time did. */
static const struct headgate_reply *await(const struct daemon_link *link, uint64_t deadline_ns)
{
    struct headgate_client *client = link->client;
    const struct headgate_reply *reply = NULL;
    enum headgate_client_status status;
    bool late = false;
    (void)headgate_client_step(client, HEADGATE_CLIENT_WRITE); /* poll tells what became of it */
    while ((status = headgate_client_poll(client, &reply)) == HEADGATE_CLIENT_AGAIN && !late) {
        const uint64_t now_ns = clock_monotonic_ns();
        struct pollfd ready = link_events(link);
        if (ready.fd < 0)
            return NULL;
        /* a last look at what is there already: it may be this program that is late, not the daemon */
        late = now_ns >= deadline_ns;
        if (poll(&ready, 1, late ? 0 : (int)((deadline_ns - now_ns + 999999) / 1000000)) > 0)
            (void)headgate_client_step(client, HEADGATE_CLIENT_READ | HEADGATE_CLIENT_WRITE);
    }
    return status == HEADGATE_CLIENT_OK || status == HEADGATE_CLIENT_REFUSED ? reply : NULL;
}

static enum outcome ask_one(struct headgate_daemons *daemons, struct daemon_link *link, uint64_t deadline_ns,
                            struct headgate_daemons_answer *answer)
{
    struct headgate_client_verdict verdict = {0};
    const struct headgate_reply *reply = await(link, deadline_ns);
    if (!reply) {
        const bool late = headgate_client_fd(link->client) >= 0;
        link_fail(daemons, link, late ? "a daemon did not answer in time" : headgate_client_message(link->client),
                  clock_monotonic_ns());
        return ASKED_LOST;
    }
    link->answered = true;
    if (reply->kind == HEADGATE_REPLY_ERROR) {
        daemons_say(daemons, reply->text);
        if (!is_not_now(reply))
            return ASKED_ERROR;
        link_fail(daemons, link, NULL, clock_monotonic_ns());
        return ASKED_NOT_NOW;
    }
    if (!headgate_client_read_verdict(reply, &verdict)) {
        daemons_say(daemons, "the answer of a daemon has another form than expected");
        return ASKED_STRANGE;
    }
    *answer = (struct headgate_daemons_answer){.decided = true,
                                               .daemon = (size_t)(link - daemons->link),
                                               .verdict = verdict};
    return ASKED_ANSWERED;
}

/* A request as it is sent. */
struct asking {
    bool take;
    bool keyed; /* it has an idempotency key: its daemon charges it once */
    size_t count;
    const char *const *words;
    const char *with_key[WORDS_MAX];
    char key[KEY_BYTES];
    bool lost;                          /* a daemon may have charged what it has not answered */
    struct sockaddr_storage peer;       /* which one: a name may have several */
    enum headgate_client_status failed; /* why it was not sent */
};

/* A daemon that is silent leaves half of the time to another try, where there may be one. */
static uint64_t deadline_of_try(const struct headgate_daemons *daemons, const struct asking *asking, bool is_last,
                                uint64_t now_ns, uint64_t deadline_ns)
{
    return is_last || (!asking->take && daemons->count == 1) ? deadline_ns : now_ns + (deadline_ns - now_ns) / 2;
}

static bool has_option(const struct asking *asking, const char *option)
{
    return words_find(2, asking->count, asking->words, option) < asking->count;
}

/* No other request of any program has the key. */
static void add_key(struct headgate_daemons *daemons, struct asking *asking)
{
    (void)snprintf(asking->key, sizeof asking->key, "%016" PRIx64 "%016" PRIx64 "%016" PRIx64, daemons->key[0],
                   daemons->key[1], daemons->key_count++);
    memcpy(asking->with_key, asking->words, asking->count * sizeof asking->words[0]);
    asking->with_key[asking->count++] = "IDEMPOTENCY_KEY";
    asking->with_key[asking->count++] = asking->key;
    asking->words = asking->with_key;
    asking->keyed = true;
}

static void prepare(struct headgate_daemons *daemons, struct asking *asking)
{
    const bool has_key = has_option(asking, "IDEMPOTENCY_KEY");
    asking->keyed = asking->take && daemons->resend && has_key;
    if (asking->take && daemons->resend && !has_key && asking->count + 2 <= WORDS_MAX &&
        !has_option(asking, "DRAIN") && !has_option(asking, "WAIT"))
        add_key(daemons, asking);
}

/*
 * Asks until a daemon has answered, or no daemon may be asked any more. A request with a key whose answer is lost is
 * sent once more, to that daemon alone, if it takes a connection at once: others do not know its keys, though its name
 * may lead to them.
 */
static enum outcome ask_all(struct headgate_daemons *daemons, struct asking *asking, uint64_t deadline_ns,
                            struct headgate_daemons_answer *answer)
{
    struct daemon_link *only = NULL;
    for (uint64_t now_ns; (now_ns = clock_monotonic_ns()) < deadline_ns;) {
        links_step(daemons, only, now_ns);
        struct daemon_link *link = links_ready(daemons, only);
        if (!link && !links_wait(daemons, only, deadline_ns))
            break;
        if (!link)
            continue;
        if (only && !link_goes_to(link, &asking->peer)) {
            daemons_say(daemons, "the name of a daemon that did not answer leads to another one now");
            break;
        }
        const bool is_last = asking->take && (!asking->keyed || only);
        link_peer(link, &asking->peer);
        asking->failed = headgate_client_queue(link->client, asking->count, asking->words, NULL);
        if (asking->failed == HEADGATE_CLIENT_PROTOCOL) { /* of what came before: nothing is sent yet */
            link_fail(daemons, link, headgate_client_message(link->client), now_ns);
            continue;
        }
        if (asking->failed != HEADGATE_CLIENT_OK) {
            daemons_say(daemons, headgate_client_message(link->client));
            return ASKED_UNSENT;
        }
        const enum outcome outcome =
            ask_one(daemons, link, deadline_of_try(daemons, asking, is_last, now_ns, deadline_ns), answer);
        if (outcome != ASKED_NOT_NOW && outcome != ASKED_LOST)
            return outcome;
        if (outcome == ASKED_NOT_NOW || !asking->take)
            continue;
        asking->lost = true;
        if (is_last)
            break;
        only = link;
        link_retry(link, clock_monotonic_ns());
    }
    return ASKED_NOT_NOW;
}

enum headgate_client_status headgate_daemons_ask(struct headgate_daemons *daemons, size_t count,
                                                 const char *const *words, struct headgate_daemons_answer *answer)
{
    struct asking asking = {.take = count >= 2 && strcasecmp(words[0], "CHECK") == 0,
                            .count = count,
                            .words = words};
    const uint64_t deadline_ns = clock_monotonic_ns() + (uint64_t)daemons->timeout_ms * 1000000;
    *answer = (struct headgate_daemons_answer){0};
    if (!asking.take && (count < 2 || strcasecmp(words[0], "PEEK") != 0)) {
        daemons_say(daemons, "the words are no request: expected CHECK or PEEK and an id");
        return HEADGATE_CLIENT_USAGE;
    }
    if (daemons->process != getpid()) {
        links_leave(daemons);
        take_chance(daemons);
    }
    prepare(daemons, &asking);
    switch (ask_all(daemons, &asking, deadline_ns, answer)) {
    case ASKED_ANSWERED:
        return HEADGATE_CLIENT_OK;
    case ASKED_ERROR:
        answer->maybe_charged = asking.lost;
        return HEADGATE_CLIENT_REFUSED;
    case ASKED_STRANGE:
        answer->maybe_charged = asking.lost;
        return HEADGATE_CLIENT_PROTOCOL;
    case ASKED_UNSENT:
        return asking.failed;
    case ASKED_NOT_NOW:
    case ASKED_LOST:
        break;
    }
    answer_absent(daemons, count, words, asking.take, answer);
    answer->maybe_charged = asking.lost;
    return HEADGATE_CLIENT_OK;
}
