/*
 * Connections to several daemons: made and given up step by step, tried again after pauses that double, each between
 * half and the whole of what it is, so that the clients of a daemon that comes back do not come all at once.
 */
#include "edge/library/daemons.h"

#include "edge/process/clock.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum {
    FIRST_PART = 4,     /* of the time for a connection, in which only the nearest is dialled */
    LOOKS_LATE_MAX = 4, /* as many as TLS and AUTH have round trips */
    VERBOSE_RULES = 6   /* where rules stand in the answer to PEEK VERBOSE */
};

void daemons_say(struct headgate_daemons *daemons, const char *sentence)
{
    (void)snprintf(daemons->message, sizeof daemons->message, "%s", sentence);
}

void link_fail(struct headgate_daemons *daemons, struct daemon_link *link, const char *sentence, uint64_t now_ns)
{
    const uint64_t pause_ns = (uint64_t)link->pause_ms * 1000000;
    if (sentence != NULL)
        daemons_say(daemons, sentence);
    headgate_client_close(link->client);
    link->state = LINK_AWAY;
    link->next_ns = now_ns + pause_ns / 2 + random_below(&daemons->random, pause_ns / 2 + 1);
    link->pause_ms = link->pause_ms < daemons->pause_max_ms / 2 ? 2 * link->pause_ms : daemons->pause_max_ms;
}

void link_retry(struct daemon_link *link, uint64_t now_ns)
{
    link->next_ns = now_ns;
}

void links_leave(struct headgate_daemons *daemons)
{
    for (size_t i = 0; i < daemons->count; i++) {
        struct daemon_link *link = &daemons->link[i];
        headgate_client_close(link->client); /* the descriptors of this process alone */
        link->state = LINK_AWAY;
        link->next_ns = 0;
    }
}

/* ---- steps ---- */

static void become_ready(struct headgate_daemons *daemons, struct daemon_link *link)
{
    link->state = LINK_READY;
    link->pause_ms = daemons->pause_min_ms;
    link->answered = false;
}

static bool is_being_made(const struct daemon_link *link)
{
    return link->state == LINK_CONNECTING || link->state == LINK_GREETING || link->state == LINK_ASKING;
}

/* A daemon that has just started refuses everything until it has a share: before that it is as good as away. */
static void greeted(struct headgate_daemons *daemons, struct daemon_link *link, uint64_t now_ns)
{
    const char *words[] = {"PEEK", "anybody", "VERBOSE"};
    link->state = LINK_ASKING;
    link->next_ns = now_ns + (uint64_t)daemons->connect_timeout_ms * 1000000;
    if (headgate_client_queue(link->client, 3, words, NULL) != HEADGATE_CLIENT_OK)
        link_fail(daemons, link, headgate_client_message(link->client), now_ns);
}

/* Whether a rule in the answer to PEEK VERBOSE has that reason. */
static bool says_not_ready(const struct headgate_reply *reply)
{
    const bool has_rules = reply->kind == HEADGATE_REPLY_ARRAY && reply->count > VERBOSE_RULES;
    const struct headgate_reply *rules = has_rules ? headgate_reply_at(reply, VERBOSE_RULES) : NULL;
    for (uint32_t i = 0; rules != NULL && rules->kind == HEADGATE_REPLY_ARRAY && i < rules->count; i++) {
        const struct headgate_reply *rule = headgate_reply_at(rules, i);
        for (uint32_t j = 0; rule->kind == HEADGATE_REPLY_ARRAY && j < rule->count; j++) {
            const struct headgate_reply *word = headgate_reply_at(rule, j);
            if (word->kind == HEADGATE_REPLY_TEXT && strcmp(word->text, "not_ready") == 0)
                return true;
        }
    }
    return false;
}

static void begin(struct headgate_daemons *daemons, struct daemon_link *link, uint64_t now_ns)
{
    if (headgate_client_start(link->client) != HEADGATE_CLIENT_OK) {
        link_fail(daemons, link, headgate_client_message(link->client), now_ns);
        return;
    }
    link->state = LINK_CONNECTING;
    link->looks_late = 0;
    link->next_ns = now_ns + (uint64_t)daemons->connect_timeout_ms * 1000000;
}

static enum headgate_client_status queue_auth(const struct headgate_daemons *daemons, struct daemon_link *link)
{
    const char *words[3] = {"AUTH", daemons->user ? daemons->user : daemons->password, daemons->password};
    return headgate_client_queue(link->client, daemons->user ? 3 : 2, words, NULL);
}

/* The handshake of TCP and TLS, and then AUTH. */
static void go_on_connecting(struct headgate_daemons *daemons, struct daemon_link *link, uint64_t now_ns)
{
    enum headgate_client_status status =
        headgate_client_step(link->client, HEADGATE_CLIENT_READ | HEADGATE_CLIENT_WRITE);
    if (status == HEADGATE_CLIENT_AGAIN)
        return;
    if (status == HEADGATE_CLIENT_OK && daemons->password != NULL) {
        status = queue_auth(daemons, link);
        link->state = LINK_GREETING;
    } else if (status == HEADGATE_CLIENT_OK) {
        greeted(daemons, link, now_ns);
    }
    if (status != HEADGATE_CLIENT_OK)
        link_fail(daemons, link, headgate_client_message(link->client), now_ns);
}

static void go_on_greeting(struct headgate_daemons *daemons, struct daemon_link *link, uint64_t now_ns)
{
    const struct headgate_reply *reply;
    (void)headgate_client_step(link->client, HEADGATE_CLIENT_READ | HEADGATE_CLIENT_WRITE);
    const enum headgate_client_status status = headgate_client_poll(link->client, &reply);
    if (status == HEADGATE_CLIENT_OK)
        greeted(daemons, link, now_ns);
    else if (status != HEADGATE_CLIENT_AGAIN)
        link_fail(daemons, link, headgate_client_message(link->client), now_ns);
}

/* An error is an answer as well: this user may not ask, or there is no limit for everybody. */
static void go_on_asking(struct headgate_daemons *daemons, struct daemon_link *link, uint64_t now_ns)
{
    const struct headgate_reply *reply;
    (void)headgate_client_step(link->client, HEADGATE_CLIENT_READ | HEADGATE_CLIENT_WRITE);
    const enum headgate_client_status status = headgate_client_poll(link->client, &reply);
    if (status == HEADGATE_CLIENT_OK && says_not_ready(reply))
        link_fail(daemons, link, "the daemon has no share yet", now_ns);
    else if (status == HEADGATE_CLIENT_OK || status == HEADGATE_CLIENT_REFUSED)
        become_ready(daemons, link);
    else if (status != HEADGATE_CLIENT_AGAIN)
        link_fail(daemons, link, headgate_client_message(link->client), now_ns);
}

/* A connection that its daemon closed while nobody asked is noticed before anything is sent on it. */
static void look_at_ready(struct headgate_daemons *daemons, struct daemon_link *link, uint64_t now_ns)
{
    if (headgate_client_step(link->client, HEADGATE_CLIENT_READ) == HEADGATE_CLIENT_OK)
        return;
    const bool idle = link->answered;
    link_fail(daemons, link, headgate_client_message(link->client), now_ns);
    if (idle)
        link->next_ns = now_ns; /* a daemon that closes an idle connection may well be there */
}

/*
 * The time for a connection is over, perhaps because the program asked nothing meanwhile, and nobody looked. The daemon
 * may have answered at once: it has a further time, as often as an answer may have been found late.
 */
static void give_up(struct headgate_daemons *daemons, struct daemon_link *link, uint64_t looked_ns, uint64_t now_ns)
{
    const uint64_t timeout_ns = (uint64_t)daemons->connect_timeout_ms * 1000000;
    if (now_ns - looked_ns >= timeout_ns && link->looks_late++ < LOOKS_LATE_MAX)
        link->next_ns = now_ns + timeout_ns;
    else
        link_fail(daemons, link, "no connection in time", now_ns);
}

static void step(struct headgate_daemons *daemons, struct daemon_link *link, uint64_t now_ns)
{
    const uint64_t looked_ns = link->looked_ns;
    link->looked_ns = now_ns;
    if (link->state == LINK_READY)
        look_at_ready(daemons, link, now_ns);
    if (link->state == LINK_AWAY && now_ns >= link->next_ns)
        begin(daemons, link, now_ns);
    if (link->state == LINK_CONNECTING)
        go_on_connecting(daemons, link, now_ns);
    if (link->state == LINK_GREETING)
        go_on_greeting(daemons, link, now_ns);
    if (link->state == LINK_ASKING)
        go_on_asking(daemons, link, now_ns);
    if (is_being_made(link) && now_ns >= link->next_ns)
        give_up(daemons, link, looked_ns, now_ns);
}

struct daemon_link *links_ready(struct headgate_daemons *daemons, struct daemon_link *only)
{
    if (only != NULL)
        return only->state == LINK_READY ? only : NULL;
    for (size_t i = 0; i < daemons->count; i++)
        if (daemons->link[i].state == LINK_READY)
            return &daemons->link[i];
    return NULL;
}

/* Until when a connection that is being made has farther ones wait; 0: it is not being made. */
static uint64_t first_until_ns(const struct headgate_daemons *daemons, const struct daemon_link *link)
{
    const uint64_t timeout_ns = (uint64_t)daemons->connect_timeout_ms * 1000000;
    return is_being_made(link) ? link->next_ns - timeout_ns + timeout_ns / FIRST_PART : 0;
}

/* Farther daemons than the one that answers are left alone, and dialled when a nearer one takes its time. */
void links_step(struct headgate_daemons *daemons, struct daemon_link *only, uint64_t now_ns)
{
    bool waits = false;
    if (only != NULL) {
        step(daemons, only, now_ns);
        return;
    }
    for (size_t i = 0; i < daemons->count; i++) {
        struct daemon_link *link = &daemons->link[i];
        if (waits && link->state == LINK_AWAY)
            continue;
        step(daemons, link, now_ns);
        if (link->state == LINK_READY)
            return;
        waits = waits || first_until_ns(daemons, link) > now_ns;
    }
}

void link_peer(const struct daemon_link *link, struct sockaddr_storage *peer)
{
    socklen_t size = sizeof *peer;
    memset(peer, 0, sizeof *peer);
    if (getpeername(headgate_client_fd(link->client), (struct sockaddr *)(void *)peer, &size) < 0)
        peer->ss_family = AF_UNSPEC;
}

bool link_goes_to(const struct daemon_link *link, const struct sockaddr_storage *peer)
{
    struct sockaddr_storage now;
    link_peer(link, &now);
    return now.ss_family != AF_UNSPEC && memcmp(&now, peer, sizeof now) == 0;
}

struct pollfd link_events(const struct daemon_link *link)
{
    const int wanted = headgate_client_wanted(link->client);
    return (struct pollfd){.fd = headgate_client_fd(link->client),
                           .events = (short)((wanted & HEADGATE_CLIENT_READ ? POLLIN : 0) |
                                             (wanted & HEADGATE_CLIENT_WRITE ? POLLOUT : 0))};
}

bool links_wait(struct headgate_daemons *daemons, const struct daemon_link *only, uint64_t until_ns)
{
    struct pollfd ready[HEADGATE_DAEMONS_MAX];
    nfds_t count = 0;
    const uint64_t now_ns = clock_monotonic_ns();
    for (size_t i = 0; i < daemons->count; i++) {
        const struct daemon_link *link = &daemons->link[i];
        if (!is_being_made(link) || (only != NULL && link != only))
            continue;
        ready[count++] = link_events(link);
        const uint64_t first_ns = first_until_ns(daemons, link);
        const uint64_t due_ns = first_ns > now_ns ? first_ns : link->next_ns;
        until_ns = due_ns < until_ns ? due_ns : until_ns;
    }
    if (count == 0)
        return false;
    if (now_ns < until_ns)
        (void)poll(ready, count, (int)((until_ns - now_ns + 999999) / 1000000));
    return true;
}
