/* Where a majority forgets, one member alone forgets nobody; and nobody is ended by one other. */
#include "tests/lib/cluster_forger.h"
#include "tests/lib/fake_signing.h"

static void world_by_majority(unsigned count)
{
    world_init(count);
    world_name_all();
    for (unsigned i = 0; i < count; i++)
        world.host[i].options.forget = FORGET_BY_MAJORITY;
    world_start_all();
    world_run(1000);
    skip_text();
}

static void of_three(void)
{
    world_by_majority(3);
    world_crash(CAT);
    world_run(1500);
    skip_text();
    world_forget(ANN, CAT);
    world_run(500);
    EXPECT("one word of two is not enough, whatever its weight",
           "ann: cat is not forgotten yet: 1 of the 2 members that are asked say so, this one among them; it takes "
           "two of them and more than half of their weights\n");
    world_forget(ANN, CAT);
    world_run(500);
    EXPECT("and is not said again", "");
    world_forget(BOB, CAT);
    world_run(500);
    EXPECT("two are", "bob: cat is forgotten, as the operator asked\n"
                      "ann: cat is forgotten, as enough members say\n");
    world_start(CAT);
    world_run(2000);
    skip_text();
    world_show_peers();
    EXPECT("it may come back", "ann sees itself active 50.0%, bob active 25.0%, cat active 25.0%\n"
                               "bob sees itself active 25.0%, ann active 50.0%, cat active 25.0%\n"
                               "cat sees itself active 25.0%, ann active 50.0%, bob active 25.0%\n");
    world_close();
}

static void of_two(void)
{
    world_by_majority(2);
    world_crash(BOB);
    world_run(1500);
    skip_text();
    world_forget(ANN, BOB);
    EXPECT("who is alone decides alone", "ann: bob is forgotten, as the operator asked\n");
    world_close();
}

static void the_last_one(void)
{
    world_by_majority(4);
    world_crash(BOB);
    world_crash(CAT);
    world_crash(DAN);
    world_run(1500);
    skip_text();
    world_forget(ANN, BOB);
    world_forget(ANN, CAT);
    skip_text();
    world_forget(ANN, DAN);
    EXPECT("whom an operator has declared gone is not asked", "ann: dan is forgotten, as the operator asked\n"
                                                              "ann: bob is forgotten, as enough members say\n"
                                                              "ann: cat is forgotten, as enough members say\n");
    world_close();
}

static void a_word_ends(void)
{
    world_by_majority(3);
    world_links(CAT, LINK_CUT);
    world_run(1500);
    world_forget(ANN, CAT);
    world_run(300);
    world_links(CAT, LINK_FINE);
    world_run(1000);
    skip_text();
    world_forget(BOB, CAT);
    world_run(500);
    EXPECT("when its member is heard again",
           "bob: cat is not forgotten yet: 1 of the 2 members that are asked say so, this one among them; it takes "
           "two of them and more than half of their weights\n");
    world_close();
}

static void by_the_clock(void)
{
    world_init(3);
    world_name_all();
    for (unsigned i = 0; i < 3; i++) {
        world.host[i].options.forget = FORGET_BY_MAJORITY;
        world.host[i].options.forget_after_ns = 5000 * MS;
    }
    world_start_all();
    world_run(1000);
    world_crash(CAT);
    world_run(4000);
    skip_text();
    world_run(4000);
    world_show_peers();
    OK(strstr(world.text, "cat left") != NULL, "forget_after is a word as well, and both say it");
    skip_text();
    world_close();
}

static void made_up(void)
{
    world_by_majority(3);
    forge(ANN, &(struct forged){"cat", "cat's", 1, 1, PEER_LEFT}, 1);
    skip_text();
    world_close();
}

int main(void)
{
    of_three();
    of_two();
    the_last_one();
    a_word_ends();
    by_the_clock();
    made_up();
    return tap_done();
}
