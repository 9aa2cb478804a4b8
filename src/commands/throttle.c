/*
 * Serves the dialects of two other servers: CL.THROTTLE of redis-cell and THROTTLE of throttlecrab.
 *
 * The one idea: both servers use GCRA, which decides like a token bucket of the same size and rate:
 * their theoretical arrival time minus now is our time until full. Every request brings its limit.
 * One key may come with another limit each time, and its time until full then stays. Tokens come
 * one by one, after whole nanoseconds, as at those servers.
 *
 * Their requests say nothing of overshoot. One request may have the whole burst in any region, as
 * it may at one of those servers. So every region decides by all spends that it has heard of, and
 * the spends of several regions within one interval may come to more than the burst.
 */
#include "base/number.h"
#include "commands/call.h"
#include "wire/command_throttle.h"

#include <stdarg.h>
#include <stdio.h>

enum {
    SECOND_NS = 1000000000,
    /* an overshoot of so many bursts lets the peer with the smallest share see a whole burst */
    WHOLE_BURST = NODE_PEERS_MAX,
};

/* The result of a decided request, before its dialect rounds it. */
struct throttled {
    bool allowed, never;
    uint64_t remaining, full_ns, retry_ns;
};

void throttle_init(struct commands *commands)
{
    static const char *const names[THROTTLE_DIALECTS] = {"\377cl.throttle", "\377throttle"};
    for (int dialect = 0; dialect < THROTTLE_DIALECTS; dialect++)
        commands->throttle_salt[dialect] = hash_128(&commands->hash_key, names[dialect], strlen(names[dialect]));
}

static struct key_id key_of(const struct commands *commands, enum throttle_dialect dialect, struct bytes key)
{
    return key_join(commands->throttle_salt[dialect], hash_128(&commands->hash_key, key.data, key.size));
}

/*
 * period / count, cut to nanoseconds as those servers cut a double. 0 if the count is 0; negative
 * if the count or the period is negative.
 */
static int64_t emission_of(const struct command_throttle *asked)
{
    if (asked->count == 0)
        return 0;
    double ns = (double)asked->period_s * SECOND_NS / (double)asked->count;
    return ns >= 9e18 ? INT64_MAX : ns <= -9e18 ? INT64_MIN : (int64_t)ns;
}

/* The exact terms. A capacity that is too large for an overshoot of WHOLE_BURST gets less overshoot. */
static struct limit_terms terms_of(const struct throttle *throttle)
{
    uint64_t capacity = (uint64_t)throttle->capacity;
    uint64_t whole = capacity > LIMIT_CAPACITY_MAX / WHOLE_BURST ? LIMIT_CAPACITY_MAX : capacity * WHOLE_BURST;
    return (struct limit_terms){LIMIT_BUCKET, 0, capacity, 1, throttle->emission_ns, whole, 0};
}

/*
 * The index of a limit with the exact terms if they can be counted; otherwise with the same rate in
 * other units, or with less overshoot. Less than 0: `error` says why there is none.
 */
static int intern(struct call *call, const struct throttle *throttle, const struct command_throttle *asked,
                  struct error *error)
{
    uint64_t capacity = (uint64_t)throttle->capacity, period_ns = 0;
    bool fits = asked->period_s > 0 && asked->count > 0 &&
                !__builtin_mul_overflow((uint64_t)asked->period_s, (uint64_t)SECOND_NS, &period_ns);
    const struct limit_terms exact = terms_of(throttle);
    const struct limit_terms terms[] = {
        exact,
        {LIMIT_BUCKET, 0, capacity, fits ? (uint64_t)asked->count : 1, fits ? period_ns : 1, exact.overshoot, 0},
        {LIMIT_BUCKET, 0, capacity, 1, throttle->emission_ns, capacity, 0},
    };
    int index = node_find_limit(call->commands->node, &terms[0]);
    if (index >= 0)
        return index;
    call_alone(call, true);
    for (size_t i = 0; i < sizeof terms / sizeof terms[0] && index < 0; i++)
        if (i != 1 || fits)
            index = node_intern_guest_limit(call->commands->node, &terms[i], error);
    call_alone(call, false);
    return index;
}

static void fill_charge(const struct commands *commands, struct bytes key, int limit, struct throttle *throttle)
{
    throttle->charge = (struct charge){.id = key_of(commands, throttle->dialect, key),
                                       .limit = (uint16_t)limit,
                                       .cost = throttle_takes(throttle) ? (uint64_t)throttle->quantity : 0,
                                       .inherit = INHERIT_TIME};
}

/*
 * The time until `quantity` tokens can be had, from the time until full and the tokens that are
 * missing. The verdict adds the time until other peers have acknowledged the spends; but after
 * their acknowledgement, spends count as of the time when they were made, so that this time is not
 * added here. A wait that is longer by a second or more does not come from acknowledgements: some
 * peer is out of reach, and the verdict's time holds.
 */
static uint64_t retry_of(const struct throttle *throttle, const struct verdict *verdict, int64_t quantity)
{
    uint64_t spare_ns;
    if (verdict->reason != VERDICT_CAPACITY && verdict->reason != VERDICT_SHARE &&
        verdict->reason != VERDICT_ISOLATION)
        return verdict->retry_after_ns;
    if (__builtin_mul_overflow((uint64_t)(throttle->capacity - quantity), throttle->emission_ns, &spare_ns) ||
        spare_ns >= verdict->reset_after_ns)
        return verdict->retry_after_ns;
    uint64_t missing_ns = verdict->reset_after_ns - spare_ns;
    bool settles = verdict->retry_after_ns >= missing_ns && verdict->retry_after_ns - missing_ns < SECOND_NS;
    return settles ? missing_ns : verdict->retry_after_ns;
}

bool throttle_takes(const struct throttle *throttle)
{
    return throttle->quantity > 0 && throttle->quantity <= throttle->capacity;
}

static struct throttled result_of(const struct throttle *throttle, bool allowed, const struct verdict *verdict)
{
    int64_t quantity = throttle->quantity;
    bool possible = quantity <= throttle->capacity;
    return (struct throttled){
        .allowed = possible && (allowed || quantity < 0),
        .never = !possible,
        .remaining = verdict->remaining_tokens,
        .full_ns = verdict->reset_after_ns,
        .retry_ns = possible && quantity >= 0 ? retry_of(throttle, verdict, quantity) : 0,
    };
}

/* Gives tokens back if the quantity is below zero. */
static void give_back(struct node *node, const struct throttle *throttle, uint64_t now_ns)
{
    struct charge charge = throttle->charge;
    if (throttle->quantity >= 0)
        return;
    charge.cost =
        throttle->quantity < -throttle->capacity ? (uint64_t)throttle->capacity : 0 - (uint64_t)throttle->quantity;
    (void)node_return(node, &charge, 1, charge.cost, now_ns);
}

/* The result of parsing the words. */
enum sense {
    SENSE_MADE,  /* the request is to be decided; capacity >= 1, emission_ns > 0 */
    SENSE_NEVER, /* there will never be a token: the answer needs no decision */
    SENSE_NONE,  /* the words are wrong, and `error` says why */
};

__attribute__((format(printf, 2, 3))) static enum sense no_sense(char *error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error, COMMAND_ERROR_BYTES, format, arguments);
    va_end(arguments);
    return SENSE_NONE;
}

static enum sense countable(const struct command_throttle *asked, struct throttle *throttle, char *error)
{
    if ((uint64_t)throttle->capacity <= LIMIT_CAPACITY_MAX)
        return SENSE_MADE;
    return no_sense(error, "max_burst is %lld: expected less than %llu", (long long)asked->max_burst,
                    (unsigned long long)LIMIT_CAPACITY_MAX);
}

/* ---- redis-cell ---- */

static enum sense understand_cell(const struct resp_command *words, struct command_throttle *asked,
                                  struct throttle *throttle, char *error)
{
    if (!command_parse_cl_throttle(words, asked, error))
        return SENSE_NONE;
    int64_t emission_ns = emission_of(asked);
    if (emission_ns == 0)
        return no_sense(error, "Zero rates are not supported: expected a count and a period above 0");
    if (asked->max_burst == INT64_MAX)
        return no_sense(error, "max_burst is too large");
    throttle->capacity = asked->max_burst + 1;
    throttle->emission_ns = (uint64_t)emission_ns;
    throttle->quantity = asked->quantity;
    if (emission_ns < 0 || throttle->capacity <= 0)
        return SENSE_NEVER;
    return countable(asked, throttle, error);
}

/* Rounds up to whole seconds, after cutting to milliseconds, as redis-cell does. */
static int64_t seconds_up(uint64_t ns)
{
    return (int64_t)(ns / SECOND_NS + (ns % SECOND_NS >= 1000000));
}

static void answer_cell(struct answer *answer, const struct throttle *throttle, const struct throttled *result)
{
    bool waits = !result->allowed && !result->never && result->retry_ns != UINT64_MAX;
    const int64_t figures[] = {!result->allowed, throttle->capacity, (int64_t)result->remaining,
                               waits ? seconds_up(result->retry_ns) : -1, seconds_up(result->full_ns)};
    const size_t count = sizeof figures / sizeof figures[0];
    answer_array_of(answer, count, figures, count);
}

static void answer_never(struct answer *answer, const struct throttle *throttle)
{
    bool limited = (int64_t)throttle->emission_ns < 0 || throttle->quantity > throttle->capacity;
    answer_cell(answer, throttle, &(struct throttled){.allowed = !limited, .never = true});
}

/* ---- throttlecrab ---- */

static enum sense understand_crab(const struct resp_command *words, struct command_throttle *asked,
                                  struct throttle *throttle, char *error)
{
    if (!command_parse_throttle(words, asked, error))
        return SENSE_NONE;
    int64_t emission_ns = emission_of(asked);
    if (asked->quantity < 0)
        return no_sense(error, "negative quantity: %lld", (long long)asked->quantity);
    if (asked->max_burst <= 0 || asked->count <= 0 || asked->period_s <= 0 || emission_ns <= 0)
        return no_sense(error,
                        "invalid rate limit parameters: expected max_burst, count and period above 0, and at "
                        "most one token in a nanosecond");
    throttle->capacity = asked->max_burst;
    throttle->emission_ns = (uint64_t)emission_ns;
    throttle->quantity = asked->quantity;
    return countable(asked, throttle, error);
}

/* throttlecrab forgets a key, and so resets it, one burst less two tokens after the key is full. */
static uint64_t crab_reset_ns(const struct throttle *throttle, uint64_t full_ns)
{
    uint64_t tail_ns;
    if (throttle->capacity == 1)
        return number_minus(full_ns, throttle->emission_ns);
    if (__builtin_mul_overflow((uint64_t)throttle->capacity - 2, throttle->emission_ns, &tail_ns) ||
        __builtin_add_overflow(tail_ns, full_ns, &full_ns))
        return UINT64_MAX;
    return full_ns;
}

/* throttlecrab refuses a quantity above the burst with a time after which the quantity could be had. */
static uint64_t crab_retry_ns(const struct throttle *throttle, const struct throttled *result)
{
    uint64_t beyond_ns;
    if (result->allowed)
        return 0;
    if (!result->never)
        return result->retry_ns;
    if (__builtin_mul_overflow((uint64_t)(throttle->quantity - throttle->capacity), throttle->emission_ns,
                               &beyond_ns) ||
        __builtin_add_overflow(beyond_ns, result->full_ns, &beyond_ns))
        return UINT64_MAX;
    return beyond_ns;
}

static void answer_crab(struct answer *answer, const struct throttle *throttle, const struct throttled *result)
{
    const int64_t figures[] = {result->allowed, throttle->capacity, (int64_t)result->remaining,
                               (int64_t)(crab_reset_ns(throttle, result->full_ns) / SECOND_NS),
                               (int64_t)(crab_retry_ns(throttle, result) / SECOND_NS)};
    const size_t count = sizeof figures / sizeof figures[0];
    answer_array_of(answer, count, figures, count);
}

/* ---- both ---- */

static enum sense understand(const struct resp_command *words, struct command_throttle *asked,
                             struct throttle *throttle, char *error)
{
    return throttle->dialect == THROTTLE_REDIS_CELL ? understand_cell(words, asked, throttle, error)
                                                    : understand_crab(words, asked, throttle, error);
}

void throttle_answer(const struct throttle *throttle, bool allowed, const struct verdict *verdict,
                     struct answer *answer)
{
    const struct throttled result = result_of(throttle, allowed, verdict);
    if (throttle->dialect == THROTTLE_REDIS_CELL)
        answer_cell(answer, throttle, &result);
    else
        answer_crab(answer, throttle, &result);
}

bool throttle_prepare(const struct commands *commands, enum throttle_dialect dialect,
                      const struct resp_command *words, struct throttle *throttle)
{
    struct command_throttle asked;
    char error[COMMAND_ERROR_BYTES];
    throttle->dialect = dialect;
    if (understand(words, &asked, throttle, error) != SENSE_MADE || throttle->quantity < 0)
        return false;
    const struct limit_terms terms = terms_of(throttle);
    int limit = node_find_limit(commands->node, &terms);
    if (limit < 0)
        return false;
    fill_charge(commands, asked.key, limit, throttle);
    return true;
}

/*
 * Serves a request that could not join the queue: it is wrong, gives tokens back, or is the first
 * one of its limit.
 */
static void call_either(struct call *call, enum throttle_dialect dialect)
{
    struct command_throttle asked;
    struct throttle throttle = {.dialect = dialect};
    struct error error;
    char text[COMMAND_ERROR_BYTES];
    enum sense sense = understand(call->words, &asked, &throttle, text);
    if (sense == SENSE_NONE)
        answer_error(&call->answer, "ERR %s", text);
    if (sense == SENSE_NEVER)
        answer_never(&call->answer, &throttle);
    if (sense != SENSE_MADE)
        return;
    int limit = intern(call, &throttle, &asked, &error);
    if (limit < 0) {
        answer_error(&call->answer, "ERR a burst of %lld and one token every %llu ns cannot be counted: %s",
                     (long long)throttle.capacity, (unsigned long long)throttle.emission_ns, error.text);
        return;
    }
    fill_charge(call->commands, asked.key, limit, &throttle);
    give_back(call->commands->node, &throttle, call->now_ns);
    pending_join_throttle(call->commands, dialect, &throttle);
    pending_decide(call->commands, call->session, call->answer.output, call->now_ns);
}

void call_cl_throttle(struct call *call)
{
    call_either(call, THROTTLE_REDIS_CELL);
}

void call_throttle(struct call *call)
{
    call_either(call, THROTTLE_THROTTLECRAB);
}
