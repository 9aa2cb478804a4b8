/*
 * events_parts tells a list as a few parts, and lists what another peer has told so. A part counts from its newest
 * spend on, so it never ends too early. What is said of all spends includes own ones, which this peer knows better:
 * they stay at their time, and make up for as many of the tokens that are told of that time or later.
 */
#include "limit/events_pool.h"

#include "base/number.h"

#include <assert.h>

static uint32_t count_up_to(const struct events *events, const struct event_list *list, uint32_t most)
{
    uint32_t count = 0;
    for (uint32_t index = list->newest; index && count < most; index = events->event[index].older)
        count++;
    return count;
}

uint32_t events_parts(const struct events *events, const struct event_list *list, uint32_t room,
                      struct events_part *parts)
{
    uint32_t count = 0, looked = 0;
    uint64_t width_ns = 0;
    assert(room > 0);
    if (count_up_to(events, list, room + 1) > room)
        width_ns = (events->event[list->newest].at_ns - events->event[list->oldest].at_ns) / room + 1;
    for (uint32_t index = list->newest; index; index = events->event[index].older) {
        const struct log_event *event = &events->event[index];
        looked++;
        if (count == 0 || parts[count - 1].at_ns - event->at_ns >= number_most(width_ns, 1))
            parts[count++] = (struct events_part){.at_ns = event->at_ns};
        parts[count - 1].tokens += event->tokens;
    }
    events_add_looked(looked);
    return count;
}

/* A walk from the newest moment on, over the events of a list and over what is told of it. Sums are since a moment. */
struct walk {
    const struct events_told *told;
    uint32_t event;                 /* the next one; 0: none is left */
    uint32_t part;                  /* the next one */
    uint64_t kept_own, kept_others; /* still to be passed over */
    uint64_t own, others, said;     /* tokens, without those kept */
    uint64_t lacking;               /* the most that was said at any moment and own tokens did not make up for */
    uint64_t listed;                /* of others, anew */
    int64_t grown;
};

static uint64_t without_kept(uint64_t tokens, uint64_t *kept)
{
    const uint64_t passed = number_least(tokens, *kept);
    *kept -= passed;
    return tokens - passed;
}

static uint64_t next_ns(const struct events *events, const struct walk *walk)
{
    const uint64_t event_ns = walk->event ? events->event[walk->event].at_ns : 0;
    return walk->part < walk->told->count ? number_most(event_ns, walk->told->parts[walk->part].at_ns) : event_ns;
}

/* How many tokens of others belong to that moment. */
static uint64_t tokens_of(struct walk *walk)
{
    const uint64_t wanted = number_least(number_most(walk->others, walk->lacking), walk->told->others_most);
    const uint64_t tokens = number_minus(wanted, walk->listed);
    walk->listed += tokens;
    return tokens;
}

/* A used-up pool may move the next event to the newest end: the walk goes on behind that moment. */
static uint32_t oldest_before(const struct events *events, const struct event_list *list, uint64_t at_ns)
{
    uint32_t index = list->newest;
    while (index && events->event[index].at_ns >= at_ns)
        index = events->event[index].older;
    return index;
}

static void walk_moment(struct events *events, struct event_list *list, struct walk *walk, uint64_t at_ns)
{
    const uint32_t index = walk->event && events->event[walk->event].at_ns == at_ns ? walk->event : 0;
    uint64_t here = 0;
    if (index) {
        const struct log_event *event = &events->event[index];
        const uint64_t own = event->own + (uint64_t)event->held;
        here = without_kept(event->tokens - own, &walk->kept_others);
        walk->own += without_kept(own, &walk->kept_own);
        walk->others += here;
        walk->event = event->older;
    }
    for (; walk->part < walk->told->count && walk->told->parts[walk->part].at_ns >= at_ns; walk->part++)
        walk->said = number_sum(walk->said, walk->told->parts[walk->part].tokens);
    walk->lacking = number_most(walk->lacking, number_minus(walk->said, walk->own));
    const uint64_t tokens = tokens_of(walk);
    if (tokens < here) {
        events_lower(events, list, index, (uint32_t)(here - tokens));
        walk->grown -= (int64_t)(here - tokens);
    } else if (tokens > here) {
        walk->grown += (int64_t)events_insert(events, list, tokens - here, at_ns);
        if (walk->event && events->event[walk->event].at_ns >= at_ns)
            walk->event = oldest_before(events, list, at_ns);
    }
}

int64_t events_list_others(struct events *events, struct event_list *list, const struct events_told *told)
{
    struct walk walk = {.told = told,
                        .event = list->newest,
                        .kept_own = told->kept_own,
                        .kept_others = told->kept_others};
    while (walk.event || walk.part < told->count)
        walk_moment(events, list, &walk, next_ns(events, &walk));
    return walk.grown;
}
