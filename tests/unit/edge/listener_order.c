/*
 * The order among connections that have asked at the same time: who asked for little before is served, and has his
 * answer, before those who ask for much; who is new comes before those too.
 */
#include "tests/lib/listener_turns.h"

enum { FLOODS = 10, LINES = 100 };

static enum listener_weight weight_of(uint64_t id)
{
    for (struct list *at = listener.connections.next; at != &listener.connections; at = at->next) {
        const struct connection *connection = LIST_OWNER(at, struct connection, link);
        if (((const struct visit *)(const void *)connection->session)->id == id)
            return connection->weight;
    }
    return LISTENER_WEIGHTS;
}

/* The first call in which that client was served from call `from` on; seen.served: none. */
static uint32_t call_of(uint64_t id, uint32_t from)
{
    uint32_t call = from;
    while (call < seen.served && seen.id_of[call] != id)
        call++;
    return call;
}

/* The work that was done for others before client `id` was served, from call `from` on. */
static uint64_t work_before(uint64_t id, uint32_t from)
{
    uint64_t work = 0;
    for (uint32_t call = from; call < call_of(id, from); call++)
        work += seen.work_of[call];
    return work;
}

/* Clients 1 to FLOODS ask for much and have begun to be served; `light` is a number of clients who asked for little. */
static void open_flooded(int *fd, uint32_t light)
{
    turns_open_with(0, fd);
    dial_light(fd, FLOODS + light);
    for (uint32_t i = 0; i < FLOODS; i++)
        put(fd[i], "work 40\n", LINES);
    TURN_UNTIL(call_of(FLOODS, 0) < seen.served);
}

static void hear_floods(const int *fd)
{
    bool ended, all = true;
    for (uint32_t i = 0; i < FLOODS; i++)
        all &= hear(fd[i], (size_t)LINES * 8, &ended) == LINES * 8;
    OK(all, "those that ask for much are answered in the end");
}

static void test_light_first(void)
{
    enum { LIGHTS = 3, TRIES = 5 };
    int fd[FLOODS + LIGHTS];
    open_flooded(fd, LIGHTS);
    for (int i = 0; i < TRIES; i++) {
        const uint32_t from = seen.served;
        for (uint32_t j = 0; j < LIGHTS; j++)
            put(fd[FLOODS + j], "me\n", 1);
        TURN_UNTIL(call_of(FLOODS + LIGHTS, from) < seen.served);
        OK(work_before(FLOODS + LIGHTS, from) <= WORK + 40 + LIGHTS,
           "who asks for little waits for one turn's work");
        TURN_UNTIL(seen.served > call_of(FLOODS + LIGHTS, from) + 1);
        const uint32_t next = call_of(FLOODS + LIGHTS, from) + 1;
        OK(seen.id_of[next] <= FLOODS && seen.writes_of[next] >= seen.writes_of[next - 1] + LIGHTS,
           "and has the answer before one who asks for much is served again");
        for (uint32_t j = 0; j < LIGHTS; j++)
            OK(hears(fd[FLOODS + j], "me\n"), "each of them");
    }
    OK(most_work(0, 0) <= WORK + 2 * 40 + LIGHTS, "a turn has its work and two commands: %" PRIu64,
       most_work(0, 0));
    hear_floods(fd);
    close_all(FLOODS + LIGHTS, fd);
}

static void test_new_before_heavy(void)
{
    int fd[FLOODS + 1];
    open_flooded(fd, 0);
    fd[FLOODS] = dial();
    TURN_UNTIL(listener.stats.connected_clients == FLOODS + 1);
    const uint32_t from = seen.served;
    put(fd[FLOODS], "me\n", 1);
    TURN_UNTIL(call_of(FLOODS + 1, from) < seen.served);
    OK(work_before(FLOODS + 1, from) <= WORK + 40, "a new one does not wait until each of the others had a turn");
    OK(hears(fd[FLOODS], "me\n"), "and is answered");
    hear_floods(fd);
    close_all(FLOODS + 1, fd);
}

/* Many who were light ask for something long at once: none of them is made out before it is served. */
static void test_light_turns_heavy(void)
{
    enum { MANY = 8 };
    int fd[MANY];
    bool in_order = true, heard = true;
    turns_open_with(0, fd);
    dial_light(fd, MANY);
    for (uint32_t i = 0; i < MANY; i++)
        put(fd[i], "work 90\n", 1);
    TURN_UNTIL(seen.served >= MANY);
    OK_U64(most_work(0, 0), 90, "one in a turn is found to be heavy");
    for (uint32_t i = 0; i < MANY; i++)
        in_order &= seen.id_of[i] == i + 1;
    OK(in_order, "those who came with it follow in order");
    for (uint32_t i = 0; i < MANY; i++)
        heard &= hears(fd[i], "work 90\n");
    OK(heard && weight_of(1) == LISTENER_HEAVY, "now they are heavy");
    for (uint32_t i = 0; i < MANY; i++)
        put(fd[i], "work 90\n", 1);
    TURN_UNTIL(seen.served >= 2 * MANY);
    OK(most_work(0, 0) < WORK + 90, "and share a turn's work");
    for (uint32_t i = 0; i < MANY; i++)
        heard &= hears(fd[i], "work 90\n");
    put(fd[0], "me\n", 1);
    OK(heard && hears(fd[0], "me\n"), "one that asks for little again");
    OK(weight_of(1) == LISTENER_LIGHT, "is light again");
    close_all(MANY, fd);
}

/* What a visit costs besides counts as well: of many small ones a turn has no more. */
static void test_visits(void)
{
    enum { MANY = 20, VISIT = 20 };
    int fd[MANY];
    uint64_t most = 0;
    struct listener_options options = LISTENER_OPTIONS_DEFAULT;
    options.turn_work = WORK;
    options.visit_work = VISIT;
    open_listener(&options);
    for (uint32_t i = 0; i < MANY; i++)
        fd[i] = dial();
    TURN_UNTIL(listener.stats.connected_clients == MANY);
    for (uint32_t i = 0; i < MANY; i++)
        put(fd[i], "me\n", 1);
    TURN_UNTIL(seen.served == MANY);
    for (uint32_t i = 0; i < MANY; i++) {
        uint64_t visits = 0;
        for (uint32_t j = i; j < MANY && seen.turn_of[j] == seen.turn_of[i]; j++)
            visits++;
        most = visits > most ? visits : most;
    }
    OK(most <= WORK / VISIT, "a turn has room for %d visits of new ones: %" PRIu64, WORK / VISIT, most);
    close_all(MANY, fd);
}

static void test_accepting(void)
{
    enum { MANY = 40 };
    struct listener_options options = LISTENER_OPTIONS_DEFAULT;
    int fd[MANY];
    uint64_t most = 0, before = 0;
    open_listener(&options);
    for (uint32_t i = 0; i < MANY; i++)
        fd[i] = dial();
    for (uint32_t turns = 0; turns < MANY && before < MANY; turns++) {
        (void)uv_run(&scene_loop, UV_RUN_NOWAIT);
        const uint64_t now = listener.stats.connected_clients;
        most = now - before > most ? now - before : most;
        before = now;
    }
    OK(most > 0 && most <= options.accepts_max + 1, "a turn accepts so many and no more: %" PRIu64, most);
    put(fd[MANY - 1], "me\n", 1);
    OK(hears(fd[MANY - 1], "me\n"), "in the end all are served");
    close_all(MANY, fd);
}

int main(void)
{
    received = malloc(RECEIVED_MAX + 1);
    assert(received != NULL);
    test_light_first();
    test_new_before_heavy();
    test_light_turns_heavy();
    test_visits();
    test_accepting();
    free(received);
    return tap_done();
}
