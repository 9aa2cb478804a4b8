/* The simulator's truths against their definitions, by hand: whoever measures must itself be measured. */
#include "base/random.h"
#include "tests/lib/tap.h"
#include "tests/sim/truth_bucket.h"
#include "tests/sim/truth_cell.h"
#include "tests/sim/truth_log.h"

static void cells(void)
{
    static struct truth_cells cells;
    truth_cell_spend(&cells, 7, 10);
    truth_cell_spend(&cells, 8, 5);
    OK_U64(truth_cell_of(&cells, 7)->least, 10, "a window keeps what was spent in it");
    OK_U64(truth_cell_of(&cells, 9)->least, 0, "nothing was spent in a window nobody touched");
    truth_cell_give_back(&cells, 7, 2, 4);
    OK(truth_cell_of(&cells, 7)->least == 6 && truth_cell_of(&cells, 7)->most == 8,
       "what came back is between two sums");
    truth_cell_give_back(&cells, 7, 20, 20);
    OK(truth_cell_of(&cells, 7)->least == 0 && truth_cell_of(&cells, 7)->most == 0,
       "no more comes back than was spent");
    truth_cell_spend(&cells, 7 + TRUTH_CELLS_MAX, 1);
    OK_U64(truth_cell_of(&cells, 7 + TRUTH_CELLS_MAX)->least, 1, "a far window takes the place of an old one");
    truth_cells_forget(&cells);
    OK(truth_cell_of(&cells, 8)->least == 0 && truth_cell_of(&cells, 8)->most == 5,
       "what nobody knows must not count");
}

static void sliding(void)
{
    static struct truth_cells cells;
    truth_cell_spend(&cells, 3, 80);
    truth_cell_spend(&cells, 4, 20);
    OK(truth_sliding_within(&cells, 4, 50, 100, 40, 100), "80 half counted, 20 and 40 are 100");
    OK(!truth_sliding_within(&cells, 4, 50, 100, 41, 100), "one more is too much");
    OK(!truth_sliding_within(&cells, 4, 51, 100, 40, 100), "so is a moment earlier");
    OK(truth_sliding_within(&cells, 4, 0, 100, 80, 100), "at its end a window counts alone");
    OK(truth_sliding_within(&cells, 0, 100, 100, 100, 100), "nothing was before the first window");
}

static void logs(void)
{
    static struct truth_log log;
    truth_log_spend(&log, 5, 1000, 900);
    truth_log_spend(&log, 7, 1100, 990);
    OK_U64(truth_log_least(&log, 100, 0, 0, 1099), 12, "every spend counts for its period");
    OK_U64(truth_log_least(&log, 100, 0, 0, 1100), 7, "and then no more");
    OK_U64(truth_log_most(&log, 100, 999, 0), 12, "by the slow clock, longer");
    OK_U64(truth_log_most(&log, 100, 1000, 50), 12, "longer still to who heard of it late");
    OK_U64(truth_log_most(&log, 100, 1050, 50), 7, "but not for ever");
    truth_log_give_back(&log, 1000, 900, 3, 4);
    OK(truth_log_least(&log, 100, 0, 0, 1050) == 8 && truth_log_most(&log, 100, 950, 0) == 9,
       "a return names its spend");
    truth_log_give_back(&log, 1000, 900, 0, 4);
    OK_U64(truth_log_least(&log, 1000, 0, 0, 1101), 4, "what is beyond its spend is taken from the newest");
    truth_log_lose(&log, 5);
    OK_U64(truth_log_least(&log, 1000, 0, 0, 1101), 0, "a crash takes the newest");
    for (unsigned i = 0; i < TRUTH_LOG_MAX + 3; i++)
        truth_log_spend(&log, 1, 2000 + i, 2000 + i);
    OK(log.lost > 0, "a list that overflows says so");
    truth_log_forget(&log);
    OK_U64(truth_log_least(&log, 100000, 0, 0, 2000), 0, "what nobody knows must not count");
    truth_log_spend(&log, 3, 9000, 9000);
    truth_log_spend(&log, 2, 8000, 8000);
    OK_U64(truth_log_least(&log, 2000, 0, 0, 10500), 3, "a spend that was noted late hides none before it");
}

static void mistakes(void)
{
    static struct truth_log log;
    truth_log_spend(&log, 4, 1100, 1100);
    truth_log_mistake(&log, 3, 1100);
    OK_U64(truth_log_least(&log, 100, 0, 0, 1199), 1,
           "what others take off instead of what has ended need not count");
    truth_log_spend(&log, 2, 1250, 1250);
    OK_U64(truth_log_least(&log, 100, 0, 0, 1250), 0, "be it spent later");
    OK_U64(truth_log_least(&log, 100, 0, 0, 1300), 2, "until that would have ended as well");
}

/* One token is one unit, refilled with one a nanosecond. */
static const struct limit plain = {.capacity = 100,
                                   .units_per_token = 1,
                                   .units_per_tick = 1,
                                   .tick_ns = 1,
                                   .capacity_units = 100};

static void buckets(void)
{
    struct truth_bucket truth;
    truth_bucket_init(&truth, &plain, 0, 0);
    truth_bucket_spend(&truth, &plain, 60);
    truth_bucket_refill(&truth, &plain, 40, 40);
    truth_bucket_give_back(&truth, &plain, 1, 30, 30, 9);
    OK_I64(truth_bucket_high(&truth, true), 100, "a return at once is lost where it does not fit");
    OK_I64(truth_bucket_high(&truth, false), 110, "one that is heard later may be owed");
    truth_bucket_refill(&truth, &plain, 60, 60);
    truth_bucket_spend(&truth, &plain, 100);
    OK_I64(truth_bucket_high(&truth, true), 0, "all is spent");
    OK_I64(truth_bucket_high(&truth, false), 30, "but for what is still under way");
    truth_bucket_heard(&truth, &plain, 1, 9);
    OK_I64(truth_bucket_high(&truth, false), 30, "what was closed before it does not tell of it");
    truth_bucket_heard(&truth, &plain, 1, 10);
    OK_I64(truth_bucket_high(&truth, false), 30, "heard of, and now in the bucket");
    truth_bucket_refill(&truth, &plain, 160, 160);
    OK_I64(truth_bucket_high(&truth, false), 100, "and nothing is owed any more");
}

/* Between them, the two truths of a bucket bracket every moment at which a return may count. */
static void any_moment(void)
{
    struct random random;
    random_seed(&random, 1);
    unsigned wrong = 0;
    for (int round = 0; round < 20000; round++) {
        struct truth_bucket truth;
        struct truth between;
        truth_bucket_init(&truth, &plain, 0, 0);
        truth_init(&between, &plain, 0, 0);
        uint64_t now = 0, heard = 20 + random_below(&random, 100), counts = random_below(&random, heard);
        bool told = false, counted = false;
        truth_bucket_spend(&truth, &plain, 50);
        truth_spend(&between, &plain, 50);
        truth_bucket_give_back(&truth, &plain, 0, 40, 40, 0);
        while (now < 150) {
            now += 1 + random_below(&random, 10);
            truth_bucket_refill(&truth, &plain, now, now);
            truth_refill(&between, &plain, now, now);
            if (!counted && now >= counts) {
                truth_refund(&between, &plain, 40);
                counted = true;
            }
            if (!told && now >= heard) {
                truth_bucket_heard(&truth, &plain, 0, 1);
                truth_bucket_heard(&truth, &plain, 0, 1);
                told = true;
            }
            uint64_t tokens = random_below(&random, 20);
            truth_bucket_spend(&truth, &plain, tokens);
            truth_spend(&between, &plain, tokens);
            wrong += counted && between.high > truth_bucket_high(&truth, false);
            wrong += truth_bucket_high(&truth, true) > truth_bucket_high(&truth, false);
        }
    }
    OK_U64(wrong, 0, "no moment at which a return may count leaves more than the late truth");
}

int main(void)
{
    cells();
    sliding();
    logs();
    mistakes();
    buckets();
    any_moment();
    return tap_done();
}
