/* The figure of two peers on a time line in docs/accounting.md is what two nodes do, line by line. */
#include "tests/lib/cluster_harness.h"

enum { PAGE_BYTES_MAX = 200000 };

static uint64_t begin_ns;

static void view_text(unsigned host, char *text, size_t room)
{
    struct bucket bucket = node_bucket(world.host[host].node, key_of("alice", 0), 0, world.now_ns);
    struct verdict verdict = node_peek(world.host[host].node, key_of("alice", 0), 0, 0, world.now_ns);
    double per_token = (double)world.limits.limit[0].units_per_token;
    (void)snprintf(text, room, "%7.0f %9.0f %8" PRIu64, (double)bucket.settled / per_token,
                   (double)bucket.unsettled / per_token, verdict.available_tokens);
}

static void show(const char *what)
{
    char ann[64], bob[64];
    view_text(ANN, ann, sizeof ann);
    view_text(BOB, bob, sizeof bob);
    tell("%3u ms  %-42s%s  %s", (unsigned)((world.now_ns - begin_ns) / MS), what, ann, bob);
}

static void drain(unsigned host, unsigned expected)
{
    unsigned count = 0;
    while (world_ask(host, "alice", 0, 1).allowed)
        count++;
    OK(count == expected, "%s admits %u requests, the page says %u", host_names[host], count, expected);
}

/* A batch is gathered within a millisecond and is 10 ms on its way. */
static void tell_the_story(void)
{
    show("the bucket is full");
    drain(ANN, 75);
    show("ann admits all that she may: 75");
    world_run(5);
    drain(BOB, 75);
    show("bob admits all that he may: 75");
    world_run(10);
    show("bob has heard of ann's 75 and answers");
    world_run(10);
    show("ann has heard of bob's 75, and that he knows");
    world_run(10);
    show("bob has heard that ann knows");
    drain(ANN, 2);
    drain(BOB, 2);
    show("both admit all that they may: 2 and 2");
    world_run(35);
    show("one round trip later");
}

/* Each line of the story stands in the page, in that order. */
static void compare_with(const char *page)
{
    const char *place = page;
    unsigned count = 0;
    for (char *line = world.text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        const char *found = strstr(place, line);
        OK(found != NULL, "docs/accounting.md says: %s", line);
        place = found ? found : place;
        count++;
    }
    OK(count == 8, "all 8 lines were compared");
}

int main(void)
{
    static char page[PAGE_BYTES_MAX];
    FILE *file = fopen("docs/accounting.md", "r");
    OK(file != NULL, "docs/accounting.md is there");
    size_t size = file ? fread(page, 1, sizeof page - 1, file) : 0;
    OK(size > 0 && size < sizeof page - 1, "and was read whole");
    world_of(2);
    skip_text();
    begin_ns = world.now_ns;
    tell_the_story();
    compare_with(page);
    world_close();
    return file ? fclose(file) == 0 ? tap_done() : 1 : 1;
}
