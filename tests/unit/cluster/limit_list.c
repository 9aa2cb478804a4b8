/* Limits of the config that reloads change while nodes run. */
#include "cluster/members/limit_list_text.h"
#include "tests/lib/cluster_harness.h"

enum { LISTS = 40 };

/* A list of the default limit with that many tokens, and another one that stays. */
static struct test_limits list[LISTS];

/* What each node's store has. */
static struct {
    uint64_t number;
    size_t size;
    char text[LIMITS_TEXT_MAX_BYTES];
} store[WORLD_HOSTS_MAX];

static void watch(unsigned host, const struct effects *effects)
{
    if (effects->limits_text.size == 0)
        return;
    memcpy(store[host].text, effects->limits_text.data, effects->limits_text.size);
    store[host].size = effects->limits_text.size;
    store[host].number = effects->limits_number;
}

static void give_file(unsigned host, unsigned tokens)
{
    struct node_options *options = &world.host[host].options;
    options->limits = &list[tokens].named;
    options->config_digest = 1000 + named_limits_digest(options->limits, &options->hash_key);
}

static void begin(unsigned count)
{
    memset(store, 0, sizeof store);
    for (unsigned i = 0; i < LISTS; i++) {
        list[i] = (struct test_limits){0};
        (void)limits_add(&list[i], "default", 100 + i, 100 + i, 3600 * UINT64_C(1000000000), 0);
        (void)limits_add(&list[i], "other", 5, 5, 3600 * UINT64_C(1000000000), 0);
    }
    world_init(count);
    world_name_all();
    for (unsigned i = 0; i < count; i++)
        give_file(i, 1);
    world.watch = watch;
    world_start_all();
    world_run(500);
    skip_text();
}

static const struct limits_result *reload(unsigned host, unsigned tokens)
{
    step(host, (struct event){.kind = EVENT_LIMITS, .limits = &list[tokens].named}, 0);
    return node_limits_result(world.host[host].node);
}

/* A node that starts again with what its store has, and with that list in its file. */
static void start_anew(unsigned host, unsigned tokens, bool keeps)
{
    give_file(host, tokens);
    if (!keeps)
        store[host].size = 0;
    world.host[host].options.incarnation = ++world.host[host].incarnation;
    struct error error;
    world.host[host].node = node_create(&world.host[host].options, &error);
    assert(world.host[host].node);
    if (store[host].size > 0) {
        static char text[LIMITS_TEXT_MAX_BYTES];
        memcpy(text, store[host].text, store[host].size);
        step(host,
             (struct event){.kind = EVENT_RESTORE,
                            .limits_text = {text, store[host].size},
                            .limits_number = store[host].number},
             0);
    }
    step(host, (struct event){.kind = EVENT_START}, 0);
    world_run(1500);
    world.quiet = false;
}

static void restart(unsigned host, unsigned tokens, bool keeps)
{
    world.quiet = true;
    world_stop(host);
    /* A daemon that nobody hears waits a while for its peers before it leaves. */
    for (unsigned waits = 0; world.host[host].node; waits++) {
        assert(waits < 100);
        world_run(300);
    }
    start_anew(host, tokens, keeps);
}

static void show(void)
{
    for (unsigned i = 0; i < world.count; i++) {
        struct node_status status;
        struct limits_report report;
        if (!world.host[i].node)
            continue;
        node_status(world.host[i].node, &status);
        node_limits_report(world.host[i].node, &report);
        tell("%s: limits %llu%s%s, %llu tokens%s, config %s", host_names[i],
             (unsigned long long)report.stamp.number, report.author[0] ? " of " : "", report.author,
             (unsigned long long)node_named_limits(world.host[i].node)->limit[0].terms.capacity,
             report.file_differs ? ", the file has others" : "", config_state_name(status.config_state));
    }
}

static void alone(void)
{
    begin(1);
    const struct limits_result *result = reload(ANN, 1);
    OK(result->unchanged && !result->refused, "the same list is no version");
    OK(!reload(ANN, 2)->refused && !result->unchanged, "another one is");
    show();
    EXPECT("which is in force at once", "ann: limits 1 of ann are in force, and go to all peers\n"
                                        "ann: limits 1 of ann, 102 tokens, config same\n");
    restart(ANN, 2, true);
    show();
    restart(ANN, 3, true);
    show();
    restart(ANN, 1, true);
    show();
    EXPECT("a file that has changed while the daemon was down counts, an older list as well",
           "ann: limits 1 of ann, 102 tokens, config same\n"
           "ann: limits 0, 103 tokens, config same\n"
           "ann: limits 0, 101 tokens, config same\n");
    (void)reload(ANN, 4);
    show();
    EXPECT("no number comes twice", "ann: limits 2 of ann are in force, and go to all peers\n"
                                    "ann: limits 2 of ann, 104 tokens, config same\n");
    world_close();
}

static void three(void)
{
    begin(3);
    (void)reload(BOB, 2);
    world_run(200);
    show();
    EXPECT("one reload is for all", "bob: limits 1 of bob are in force, and go to all peers\n"
                                    "ann: limits 1 of bob take the place of limits 0\n"
                                    "cat: limits 1 of bob take the place of limits 0\n"
                                    "ann: limits 1 of bob, 102 tokens, the file has others, config same\n"
                                    "bob: limits 1 of bob, 102 tokens, config same\n"
                                    "cat: limits 1 of bob, 102 tokens, the file has others, config same\n");
    OK(reload(ANN, 2)->unchanged, "the others' reloads find it there");
    show();
    EXPECT("and their files agree with it", "ann: limits 1 of bob, 102 tokens, config same\n"
                                            "bob: limits 1 of bob, 102 tokens, config same\n"
                                            "cat: limits 1 of bob, 102 tokens, the file has others, config same\n");
    world_close();
}

static void starts(void)
{
    begin(3);
    (void)reload(BOB, 2);
    world_run(200);
    skip_text();
    restart(ANN, 2, true);
    restart(CAT, 1, false);
    show();
    EXPECT("who starts with the new list, or with the old one, is of the same config",
           "ann: limits 1 of bob, 102 tokens, config same\n"
           "bob: limits 1 of bob, 102 tokens, config same\n"
           "cat: limits 1 of bob, 102 tokens, the file has others, config same\n");
    restart(CAT, 3, true);
    show();
    EXPECT("who starts with a list that nobody knows decides nothing",
           "ann: limits 1 of bob, 102 tokens, config differs\n"
           "bob: limits 1 of bob, 102 tokens, config differs\n"
           "cat: limits 0, 103 tokens, config out\n");
    OK(reload(CAT, 4)->refused, "nor does it make a version");
    OK_STRING(node_limits_result(world.host[CAT].node)->error.text,
              "the config of cat is not in use: reload a daemon whose config is", "it says so");
    (void)reload(ANN, 3);
    world_run(1000);
    skip_text();
    show();
    EXPECT("until a reload of another one makes its list a version",
           "ann: limits 2 of ann, 103 tokens, config same\n"
           "bob: limits 2 of ann, 103 tokens, the file has others, config same\n"
           "cat: limits 2 of ann, 103 tokens, config same\n");
    world_close();
}

static void side_by_side(void)
{
    begin(3);
    world_links(CAT, LINK_CUT);
    (void)reload(ANN, 2);
    (void)reload(CAT, 3);
    world_run(3000);
    (void)reload(ANN, 4);
    world_run(500);
    world_links(CAT, LINK_FINE);
    world_run(3000);
    skip_text();
    show();
    EXPECT("of versions from two sides of a cut the newest is in force on both",
           "ann: limits 2 of ann, 104 tokens, config same\n"
           "bob: limits 2 of ann, 104 tokens, the file has others, config same\n"
           "cat: limits 2 of ann, 104 tokens, the file has others, config same\n");
    restart(BOB, 3, false);
    show();
    EXPECT("and the other one's list is known to all", "ann: limits 2 of ann, 104 tokens, config same\n"
                                                       "bob: limits 2 of ann, 104 tokens, the file has others, "
                                                       "config same\n"
                                                       "cat: limits 2 of ann, 104 tokens, the file has others, "
                                                       "config same\n");
    world_close();
}

static void late(void)
{
    begin(3);
    world_link(BOB, ANN, LINK_HELD);
    (void)reload(BOB, 2);
    world_run(150);
    world_link(CAT, BOB, LINK_HELD);
    world_link(ANN, BOB, LINK_HELD);
    (void)reload(CAT, 3);
    world_run(150);
    world_release(BOB, ANN, false);
    skip_text();
    show();
    EXPECT("an older version that comes later changes nothing",
           "ann: limits 2 of cat, 103 tokens, the file has others, config same\n"
           "bob: limits 1 of bob, 102 tokens, config same\n"
           "cat: limits 2 of cat, 103 tokens, config same\n");
    world_link(BOB, ANN, LINK_FINE);
    world_link(CAT, BOB, LINK_FINE);
    world_link(ANN, BOB, LINK_FINE);
    world_run(1000);
    skip_text();
    show();
    EXPECT("and its node has the newer one as well",
           "ann: limits 2 of cat, 103 tokens, the file has others, config same\n"
           "bob: limits 2 of cat, 103 tokens, the file has others, config same\n"
           "cat: limits 2 of cat, 103 tokens, config same\n");
    world_close();
}

/* Ann has heard of versions that do not know her list. Their maker has lost them, and is the older one of the two. */
static void forgotten(void)
{
    begin(2);
    world_links(ANN, LINK_CUT);
    restart(BOB, 2, false);
    world_run(3000);
    (void)reload(BOB, 3);
    (void)reload(BOB, 4);
    world.host[ANN].incarnation += 10;
    restart(ANN, 1, false);
    world_links(ANN, LINK_FINE);
    world_run(3000);
    skip_text();
    show();
    EXPECT("a version that does not know a daemon's list is not taken",
           "ann: limits 0, 101 tokens, config out\n"
           "bob: limits 2 of bob, 104 tokens, config differs\n");
    /* It does not leave before: else ann's config would be the only one, and stay in use. */
    world.quiet = true;
    world_crash(BOB);
    start_anew(BOB, 5, false);
    OK(!reload(BOB, 1)->refused, "its maker starts anew without it, and makes one of ann's list");
    world_run(2000);
    skip_text();
    show();
    EXPECT("which ann takes, since no number comes twice", "ann: limits 3 of bob, 101 tokens, config same\n"
                                                           "bob: limits 3 of bob, 101 tokens, config same\n");
    world_close();
}

/* More lists than are remembered: those that nodes began with stay. */
static void many(void)
{
    begin(2);
    for (unsigned i = 2; i < LISTS; i++) {
        (void)reload(i % 2 == 0 ? ANN : BOB, i);
        world_run(150);
    }
    restart(BOB, LISTS - 1, false);
    skip_text();
    show();
    EXPECT("after many reloads all are of one config still",
           "ann: limits 38 of bob, 139 tokens, the file has others, config same\n"
           "bob: limits 38 of bob, 139 tokens, config same\n");
    world_close();
}

static void texts(void)
{
    static struct limit_list kept, back;
    static char text[LIMITS_TEXT_MAX_BYTES], again[LIMITS_TEXT_MAX_BYTES];
    kept = (struct limit_list){.stamp = {3, 7}, .wall_ms = 5, .author = "eu-1", .file = 11};
    kept.config_count = LIMIT_LIST_CONFIGS_MAX;
    for (uint32_t i = 0; i < kept.config_count; i++)
        kept.config[i] = (struct limit_list_config){UINT64_MAX - i, UINT64_MAX};
    for (unsigned i = 0; i < NAMED_LIMITS_MAX; i++) {
        char name[LIMIT_NAME_BYTES];
        struct error error;
        const struct limit_terms terms = {.capacity = LIMIT_CAPACITY_MAX,
                                          .rate = 1,
                                          .period_ns = 1000000000,
                                          .overshoot = LIMIT_CAPACITY_MAX};
        (void)snprintf(name, sizeof name, "%063u", i);
        const bool good = named_limit_init(&kept.limits.limit[i], bytes_of(name), &terms, &error);
        assert(good);
        kept.limits.limit[i].patience_ms = PATIENCE_MAX_MS;
    }
    kept.limits.count = NAMED_LIMITS_MAX;
    kept.limits.by_default = NAMED_LIMITS_MAX - 1;
    const size_t size = limit_list_print(&kept, true, text);
    OK(limit_list_read((struct bytes){text, size}, &back) && limit_list_print(&back, true, again) == size &&
           memcmp(text, again, size) == 0,
       "the largest version is written and read");
    static const char *const bad[] = {
        "",
        "version 1 2 3 ann\n",
        "limit 1 1 1000000000 0 0 1 default\n",
        "version 0 2 3 ann\nlimit 1 1 1000000000 0 0 1 default\n",
        "version 1 2 3 ann\nlimit 0 1 1000000000 0 0 1 default\n",
        "version 1 2 3 ann\nlimit 1 1 1000000000 0 5001 1 default\n",
        "version 1 2 3 ann\nlimit 1 1 1000000000 0 0 2 default\n",
        "version 1 2 3 ann\nlimit 1 1 1000000000 0 0 1 a b\n",
        "version 1 2 3 ann\nlimit 1 1 1000000000 0 0 1 a\nlimit 1 1 1000000000 0 0 0 a\n",
        "version 1 2 3 ann\nversion 1 2 3 ann\nlimit 1 1 1000000000 0 0 1 a\n",
        "version 1 2 3 ann\nconfig x 1\nlimit 1 1 1000000000 0 0 1 a\n",
        "version 99999999999999999999 2 3 ann\nlimit 1 1 1000000000 0 0 1 a\n",
    };
    unsigned read = 0;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        read += limit_list_read(bytes_of(bad[i]), &back);
    OK_U64(read, 0, "nonsense is refused whole");
    OK(limit_list_read(bytes_of("version 1 2 3 ann\ncolour red\nlimit 1 1 1000000000 0 0 1 a\n"), &back),
       "lines of later releases are passed over");
}

int main(void)
{
    alone();
    three();
    starts();
    side_by_side();
    late();
    forgotten();
    many();
    texts();
    return tap_done();
}
