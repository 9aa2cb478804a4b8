/* What a transport has to do is done piece by piece, when it is called to. */
#include "tests/lib/transport_peers.h"

static uint64_t sent;
static char numbered[2048];

static uint64_t a_published(void)
{
    return transport_stats(a.transport).published_messages;
}

/* The next number, at the front of so many bytes. */
static void a_counts_on(size_t size)
{
    memcpy(numbered, &sent, sizeof sent);
    transport_publish(a.transport, (struct bytes){numbered, size});
    sent++;
}

static bool b_heard_sent(void)
{
    return b.next == sent;
}

static void publishing_later(void)
{
    OK(run_until(b_heard_again, a_says_something), "b is connected");
    turn(UV_RUN_NOWAIT);
    b.next = sent;
    b.misordered = 0;
    uint64_t before = a_published(), later = a.later;
    for (int i = 0; i < 3; i++)
        a_counts_on(sizeof numbered);
    OK_U64(a_published(), before, "messages are not published at once");
    for (int i = 0; i < 3; i++) {
        (void)uv_run(&peers_loop, UV_RUN_NOWAIT);
        OK(transport_waits(a.transport) && a_published() == before, "nor by the loop");
    }
    for (uint64_t piece = 1; piece <= 3; piece++)
        OK(transport_work(a.transport) && a_published() == before + piece, "one is a piece of what waits");
    OK(a.later == later + 3 && a.later_ns > 0 && a.later_ns < DEADLINE_S * UINT64_C(1000000000),
       "and how long they took is told");
    for (int i = 0; i < TRANSPORT_LATER_MAX; i++)
        a_counts_on(sizeof numbered);
    OK_U64(a_published(), before + 3 + 1, "fewer than %d wait", TRANSPORT_LATER_MAX);
    OK(run_until(b_heard_sent, NULL) && b.misordered == 0, "all arrive, in order");
    OK_U64(a.later - later, 3 + TRANSPORT_LATER_MAX - 1, "what did not wait is not told");
    OK(idle_ms() != 0, "and then nothing turns the loop");
    before = a_published();
    for (int i = 0; i < 3; i++)
        a_counts_on(sizeof numbered);
    transport_flush(a.transport);
    OK_U64(a_published(), before + 3, "those who cannot wait publish all of it");
    OK(!transport_waits(a.transport) && !transport_work(a.transport), "nothing waits then");
    OK(run_until(b_heard_sent, NULL) && b.misordered == 0, "which arrives once");
}

static uint64_t heard_at_once_max;

static bool b_heard_both(void)
{
    uint64_t before = b.messages + b.requests;
    (void)transport_work(b.transport);
    uint64_t heard = b.messages + b.requests - before;
    heard_at_once_max = heard > heard_at_once_max ? heard : heard_at_once_max;
    return b.messages >= 10 && b.requests == 4;
}

static bool a_has_four(void)
{
    return a.responses == 4;
}

static void piece_by_piece(void)
{
    b.messages = b.requests = a.responses = 0;
    b.lazy = true;
    for (int i = 0; i < 4; i++)
        transport_request(a.transport, "peer", b.snapshots, bytes_of("one of four"));
    OK(run_until(b_heard_both, a_says_something), "in each turn of the loop a piece of work is done");
    OK_U64(heard_at_once_max, 1, "one message or one request is heard");
    b.lazy = false;
    OK(run_until(a_has_four, NULL), "and answered");
}

static bool b_waits(void)
{
    return transport_waits(b.transport);
}

static bool b_heard_twenty(void)
{
    return b.messages >= 20;
}

static void held_by_what_is_heard(void)
{
    b.messages = 0;
    b.rests = b.lazy = true;
    OK(run_until(b_waits, a_says_something), "a message waits");
    OK(transport_work(b.transport) && b.messages == 1, "and is heard, which holds who hears it");
    OK(!transport_waits(b.transport), "then nothing waits for him");
    b.lazy = false;
    for (int i = 0; i < 20; i++) {
        a_says_something();
        turn(UV_RUN_NOWAIT);
    }
    OK_U64(b.messages, 1, "nor does he hear more");
    b.rests = false;
    transport_hold(b.transport, false);
    OK(run_until(b_heard_twenty, NULL), "until he is not held any more");
}

static bool both_closed(void)
{
    return a.closed && b.closed;
}

int main(void)
{
    srand((unsigned)getpid());
    (void)uv_loop_init(&peers_loop);
    peer_open(&a);
    peer_open(&b);
    OK(transport_connect(b.transport, "peer", a.gossip), "b listens to a");
    publishing_later();
    piece_by_piece();
    held_by_what_is_heard();
    transport_destroy(&a.transport, on_closed, &a.closed);
    transport_destroy(&b.transport, on_closed, &b.closed);
    OK(run_until(both_closed, NULL), "both close");
    while (uv_run(&peers_loop, UV_RUN_NOWAIT) != 0)
        ;
    OK(uv_loop_close(&peers_loop) == 0, "and leave nothing in the loop");
    return tap_done();
}
