/* Weights of regions that change while nodes run. */
#include "cluster/members/weights_text.h"
#include "tests/lib/cluster_harness.h"

/* What each node's store has, and what it has not written yet; a store writes `store_ms` later. */
static struct {
    uint64_t number, kept, at_ns;
    size_t size;
    char text[WEIGHTS_TEXT_MAX_BYTES];
} store[WORLD_HOSTS_MAX];
static uint64_t store_ms;

static void watch(unsigned host, const struct effects *effects)
{
    if (effects->weights_text.size == 0)
        return;
    memcpy(store[host].text, effects->weights_text.data, effects->weights_text.size);
    store[host].size = effects->weights_text.size;
    store[host].number = effects->weights_number;
    store[host].at_ns = world.now_ns + store_ms * MS;
}

static void run(uint64_t ms)
{
    for (; ms > 0; ms--) {
        world_run(1);
        for (unsigned i = 0; i < world.count; i++) {
            if (store[i].kept == store[i].number || store[i].at_ns > world.now_ns || !world.host[i].node)
                continue;
            store[i].kept = store[i].number;
            step(i, (struct event){.kind = EVENT_WEIGHTS_KEPT, .weights_number = store[i].kept}, 0);
        }
    }
}

static void begin(void)
{
    memset(store, 0, sizeof store);
    store_ms = 0;
    world_init(3);
    world_name_all();
    for (unsigned i = 0; i < world.count; i++)
        world.host[i].options.keeps_weights = true;
    world.watch = watch;
    world_start_all();
    run(500);
    skip_text();
}

/* Percents of ann's, bob's and cat's regions; 0: not named. */
static const struct weights_result *set(unsigned i, uint64_t ann, uint64_t bob, uint64_t cat)
{
    const uint64_t percent[] = {ann, bob, cat};
    struct weights_change change = {0};
    for (unsigned r = 0; r < 3; r++) {
        if (percent[r] == 0)
            continue;
        (void)snprintf(change.part[change.count].region, NODE_NAME_BYTES, "%s's", host_names[r]);
        change.part[change.count++].billionths = percent[r] * (WEIGHT_ONE_BILLIONTHS / 100);
    }
    step(i, (struct event){.kind = EVENT_WEIGHTS, .weights = &change}, 0);
    return node_weights_result(world.host[i].node);
}

/* The share of each node by its own word, and whom its newest version waits for. */
static void show(void)
{
    static struct weights_report report;
    for (unsigned i = 0; i < world.count; i++) {
        struct node_status status;
        if (!world.host[i].node)
            continue;
        node_status(world.host[i].node, &status);
        node_weights(world.host[i].node, &report);
        char waits[128] = "";
        int size = 0;
        for (uint32_t w = 0; w < report.wait_count; w++)
            size +=
                snprintf(waits + size, sizeof waits - (size_t)size, "%s%s %s",
                         w > 0 ? ", " : ", waits: ", report.wait[w].name, weights_wait_name(report.wait[w].why));
        tell("%s has %.1f%%, weights %d%s", host_names[i], (double)status.share * 100 / (double)SHARE_ONE,
             (int)report.base->stamp.number, waits);
    }
}

static void one_change(void)
{
    begin();
    OK(!set(BOB, 10, 25, 60)->refused, "bob takes new weights");
    show();
    EXPECT("a smaller weight is in force where it is heard",
           "bob: weights 1 were made by bob: larger ones wait for all daemons\n"
           "ann has 50.0%, weights 0\n"
           "bob has 25.0%, weights 0, waits: bob storing, ann news, cat news\n"
           "cat has 25.0%, weights 0\n");
    run(15);
    show();
    run(500);
    EXPECT("the news is on its way", "ann has 10.0%, weights 0, waits: cat news\n"
                                     "bob has 25.0%, weights 0, waits: ann news, cat news\n"
                                     "cat has 25.0%, weights 0, waits: ann news\n"
                                     "cat: weights 1 are in force: all daemons have heard them\n"
                                     "ann: weights 1 are in force: all daemons have heard them\n"
                                     "bob: weights 1 are in force: all daemons have heard them\n");
    show();
    EXPECT("a larger one is in force in the end", "ann has 10.0%, weights 1\n"
                                                  "bob has 25.0%, weights 1\n"
                                                  "cat has 60.0%, weights 1\n");
    OK(set(ANN, 10, 0, 60)->asked && !node_weights_result(world.host[ANN].node)->refused &&
           node_weights_result(world.host[ANN].node)->unchanged,
       "what is so already makes no version");
    world_close();
}

/* Of two that know nothing of each other the later stamp stays, and until then the least of both is in force. */
static void two_changes(void)
{
    begin();
    (void)set(ANN, 10, 80, 10);
    (void)set(BOB, 20, 20, 60);
    skip_text();
    run(15);
    show();
    EXPECT("the least of both is in force", "ann has 10.0%, weights 0, waits: cat news\n"
                                            "bob has 20.0%, weights 0, waits: ann news, cat news\n"
                                            "cat has 10.0%, weights 0, waits: ann news\n");
    run(1000);
    skip_text();
    show();
    uint64_t sum = 0;
    for (unsigned i = 0; i < 3; i++) {
        struct node_status status;
        node_status(world.host[i].node, &status);
        sum += status.share;
    }
    OK(sum > SHARE_ONE / 100 * 99 && sum <= SHARE_ONE, "one of both is in force");
    skip_text();
    world_close();
}

/*
 * Ann has spent her half, of which bob does not hear from her. She must not say that she has heard of her smaller
 * weight before he has heard of that from cat: else he would have his larger one before.
 */
static void spent_before(void)
{
    begin();
    world_link(ANN, BOB, LINK_CUT);
    (void)world_spend_many(ANN, "other", 600); /* a batch that does not ride along in cat's messages */
    const unsigned ann = world_drain(ANN, "key");
    (void)set(CAT, 5, 90, 5);
    unsigned bob = 0;
    for (unsigned i = 0; i < 20; i++) {
        run(25);
        bob += world_drain(BOB, "key");
    }
    OK_U64(ann, 75, "ann spends what she may");
    OK(ann + bob + world_drain(CAT, "key") <= 160, "no more than the limit is spent, with bob's %u", bob);
    world_link(ANN, BOB, LINK_FINE);
    for (unsigned i = 0; i < 8; i++) {
        run(400);
        bob += world_drain(BOB, "key");
    }
    OK(ann + bob > 150 && ann + bob <= 160, "bob has the rest when all have heard: %u", bob);
    skip_text();
    world_close();
}

static void silent_one(void)
{
    begin();
    world_links(CAT, LINK_CUT);
    run(1500);
    (void)set(ANN, 10, 60, 0);
    run(500);
    skip_text();
    show();
    EXPECT("who is silent stops a raise, and is named", "ann has 10.0%, weights 0, waits: cat silent\n"
                                                        "bob has 25.0%, weights 0, waits: cat silent\n"
                                                        "cat has 25.0%, weights 0\n");
    world_forget(BOB, CAT);
    run(500);
    skip_text();
    show();
    EXPECT("who is forgotten is not waited for", "ann has 10.0%, weights 1\n"
                                                 "bob has 60.0%, weights 1\n"
                                                 "cat has 25.0%, weights 0\n");
    world_close();
}

static void start_with_store(unsigned i)
{
    world.host[i].incarnation += 10;
    world_start(i);
}

/* The word waits for the store: a node that has said it starts with what it said. */
static void word_waits_for_store(void)
{
    begin();
    store_ms = 300;
    (void)set(ANN, 10, 60, 30);
    run(200);
    skip_text();
    show();
    EXPECT("nobody has said that it has heard",
           "ann has 10.0%, weights 0, waits: ann storing, bob news, cat news\n"
           "bob has 25.0%, weights 0, waits: bob storing, ann news, cat news\n"
           "cat has 25.0%, weights 0, waits: cat storing, ann news, bob news\n");
    run(1500);
    skip_text();
    show();
    EXPECT("then all have", "ann has 10.0%, weights 1\nbob has 60.0%, weights 1\ncat has 30.0%, weights 1\n");
    world_crash(ANN);
    start_with_store(ANN);
    run(1500);
    skip_text();
    show();
    EXPECT("who has lost its store hears of them before it is active",
           "ann has 10.0%, weights 1\nbob has 60.0%, weights 1\ncat has 30.0%, weights 1\n");
    world_close();
}

static void expect_refused(unsigned i, uint64_t ann, uint64_t bob, const char *text)
{
    const struct weights_result *result = set(i, ann, bob, 0);
    OK(result->refused && strcmp(result->error.text, text) == 0, "refused: %s", text);
    if (!result->refused || strcmp(result->error.text, text) != 0)
        printf("# %s\n", result->error.text);
}

static void refusals(void)
{
    begin();
    expect_refused(
        ANN, 90, 0,
        "the weights of all regions would sum to 1.400000000: expected at most 1 (a region that is not named "
        "keeps its weight)");
    world.host[CAT].options.keeps_weights = false;
    world_crash(CAT);
    start_with_store(CAT);
    run(1500);
    expect_refused(ANN, 10, 0, "cat keeps no weights over a restart: upgrade it, or give it a state_dir");
    world_stop(CAT);
    run(500);
    expect_refused(
        BOB, 10, 0,
        "cat has not said whether it keeps weights: wait until it is heard, or forget it if it will not come "
        "back");
    skip_text();
    show();
    EXPECT("nothing is lowered", "ann has 50.0%, weights 0\nbob has 25.0%, weights 0\n");
    world_close();
}

/* What came of weights while cat was away is on no disk of cat's yet: a crash now would forget it. */
static void disk_is_full(void)
{
    char waits_for[NODE_NOTICE_BYTES];
    begin();
    world_crash(CAT);
    run(2000);
    OK(!set(ANN, 40, 30, 30)->refused, "weights change while cat is away, whose disk is full then");
    run(500);
    store_ms = 20000;
    start_with_store(CAT);
    run(6000);
    node_waits_for(world.host[CAT].node, waits_for);
    OK_STRING(waits_for, "its state_dir, which does not keep the weights of regions yet: mend its disk",
              "cat's start says that it waits for the disk");
    run(20000);
    node_waits_for(world.host[CAT].node, waits_for);
    OK_STRING(waits_for, "", "and goes on when there is room again");
    world_close();
}

static bool reads(const char *text)
{
    static struct weights_known known;
    return weights_read(bytes_of(text), &known);
}

static void texts(void)
{
    static struct weights_known known;
    static char text[WEIGHTS_TEXT_MAX_BYTES];
    const char *all = "base 3 7 1764166800000 eu-1 a=500000000 b=b=500000000\nnewest 4 9 0 - a=1\nfloor 4 1 0 x\n"
                      "past 2 2 2 y a=7\n";
    OK(weights_read(bytes_of(all), &known), "a text is read");
    const size_t size = weights_print(&known, true, text);
    OK(size == strlen(all) && memcmp(text, all, size) == 0, "and written as it was");
    OK(reads("") && reads("later 1 2 3\n"), "what a later release may write is passed over");
    static const char *const wrong[] = {"base\n",
                                        "base 0 1 1 x a=1\n",
                                        "base 1 1 1 x a=600000000 b=600000000\n",
                                        "base 1 1 1 x a=1 a=1\n",
                                        "base 1 1 1 x =1\n",
                                        "base 1 1 1 x a=\n",
                                        "base 1 1 1 x a\n",
                                        "base 1 1 1\n",
                                        "base 99999999999999999999 1 1 x a=1\n",
                                        "base 18446744073709551615 1 1 x a=1\n",
                                        "newest 1 1 1 x  a=1\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        OK(!reads(wrong[i]), "nonsense: %.*s", (int)strcspn(wrong[i], "\n"), wrong[i]);
}

int main(void)
{
    one_change();
    two_changes();
    spent_before();
    silent_one();
    word_waits_for_store();
    refusals();
    disk_is_full();
    texts();
    return tap_done();
}
