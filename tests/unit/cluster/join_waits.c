/* What a start waits for, in words: each names the member that it waits for, and what an operator may do. */
#include "tests/lib/cluster_harness.h"
#include "tests/lib/signing_world.h"

static const char *cat_waits_for(void)
{
    static char text[NODE_NOTICE_BYTES];
    node_waits_for(world.host[CAT].node, text);
    return text;
}

static void begin(uint64_t join_timeout_ns)
{
    world_init(3);
    world_name_all();
    world.host[CAT].options.join_timeout_ns = join_timeout_ns;
}

static void nobody_is_heard(void)
{
    begin(20000 * MS);
    world_start(CAT);
    world_run(6000);
    OK(strstr(world.text,
              "cat: cat stays joining and refuses all: it waits for an active peer, or for all to start "
              "anew, but ann is not heard: it begins alone in 15.0 s\n"),
       "a start that hears nobody says so after five seconds");
    world_run(15000);
    OK_STRING(cat_waits_for(), "", "when it has begun alone, it waits for nothing");
    world_close();
    begin(0);
    world_start(CAT);
    world_run(1000);
    OK_STRING(
        cat_waits_for(),
        "an active peer, or for all to start anew, but ann is not heard, and join_timeout is 0: start it, mend its "
        "links, or forget it",
        "without a join_timeout it needs its peers");
    world_start(ANN);
    world_start(BOB);
    world_run(1000);
    OK_STRING(cat_waits_for(), "", "it begins when they come");
    world_close();
}

static void one_does_not_confirm(void)
{
    begin(0);
    world_start(ANN);
    world_start(BOB);
    world_run(1000);
    world_link(CAT, BOB, LINK_CUT);
    world_mute(BOB, ANN, true, false); /* nor is bob told of cat by ann */
    world_start(CAT);
    world_run(70000);
    OK_STRING(cat_waits_for(),
              "the word of bob that it counts this start's share: it does not hear this daemon: mend that, or stop "
              "it and "
              "forget it",
              "a start says who does not hear it");
    const char *found = strstr(world.text, "cat: cat stays joining and refuses all: it waits for the word of bob ");
    OK(found && strstr(found + 1, "cat: cat stays joining and refuses all: it waits for the word of bob "),
       "and does so again each minute");
    world_crash(BOB);
    world_run(3000);
    OK_STRING(cat_waits_for(), "", "it goes on when that one is stopped");
    world_close();
}

static void one_was_never_heard(void)
{
    begin(0);
    world_start(ANN);
    world_start(BOB);
    world_links(BOB, LINK_CUT);
    world_run(3000);
    world_start(CAT);
    world_run(3000);
    OK_STRING(cat_waits_for(), "the word of bob, which is not heard: start it, mend its links, or forget it",
              "a start without a join_timeout says who is not heard");
    world_forget(CAT, BOB);
    world_run(2000);
    OK_STRING(cat_waits_for(), "", "it goes on when that one is forgotten");
    world_close();
}

static void one_signs_nothing(void)
{
    char text[NODE_NOTICE_BYTES];
    signing_world_init(2, KEYS_REQUIRED);
    world.host[ANN].options.join_timeout_ns = 0;
    world.host[BOB].options.signing = (struct node_signing){0};
    world_start_all();
    world_run(1000);
    node_waits_for(world.host[ANN].node, text);
    OK_STRING(text,
              "an active peer, or for all to start anew, but bob signs nothing, which signatures: required asks for, "
              "and join_timeout is 0: start it, mend its links, or forget it",
              "a start says why somebody who speaks is not heard");
    world_close();
}

int main(void)
{
    nobody_is_heard();
    one_does_not_confirm();
    one_was_never_heard();
    one_signs_nothing();
    return tap_done();
}
