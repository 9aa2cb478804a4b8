/* When a link is said to lose packets, and when it is not any more, by the counters of its connection. */
#include "edge/peers/transport_loss.h"
#include "edge/peers/transport.h"
#include "tests/lib/tap.h"

enum { MANY = 20, LONELY = 40 };

static struct loss loss;
static struct arrivals arrivals;
static uint32_t connection = 1;

/* `bad` of `looks` looks come after a lost packet, as evenly as may be. True: the link loses packets now. */
static bool look(unsigned looks, unsigned bad)
{
    bool loses = false;
    for (unsigned i = 0; i < looks; i++) {
        arrivals.segments += MANY;
        arrivals.disordered += (i + 1) * bad / looks > i * bad / looks ? 5 : 0;
        loses = loss_look(&loss, connection, &arrivals);
    }
    return loses;
}

static void begin(void)
{
    loss = (struct loss){0};
    arrivals = (struct arrivals){0};
}

static void loses(void)
{
    begin();
    OK(!look(200, 0), "a link over which all comes in order loses nothing");
    OK(!look(200, 20), "nor does one with a loss in each tenth look");
    begin();
    OK(!look(1, 0) && !look(8, 2), "two bad looks prove nothing");
    OK(!look(7, 0) && look(6, 3), "but three do");
    OK(look(256, 16), "and it stays a bad one with a loss now and then");
    OK(look(16, 16) && look(61, 0), "and for 61 looks without any after many");
    OK(!look(1, 0), "and then it is good");
    OK(look(3, 3), "until it loses packets again");
}

static void unknown(void)
{
    begin();
    (void)look(16, 16);
    bool silent = true;
    for (unsigned i = 0; i < 100; i++) {
        arrivals.segments += i % 50 == 0;
        silent &= loss_look(&loss, connection, &arrivals);
    }
    OK(silent, "where nothing comes, nothing is learnt");
    connection = 2;
    arrivals = (struct arrivals){.segments = 7, .disordered = 3};
    OK(loss_look(&loss, connection, &arrivals), "nor from a connection that is new");
    OK(!look(64, 0), "but from what comes over it");

    begin();
    arrivals = (struct arrivals){.segments = UINT32_MAX - 3, .disordered = UINT32_MAX - 3};
    OK(!look(1, 0) && !look(2, 2) && look(1, 1), "counters may wrap");
}

static void lanes(void)
{
    bool fit = true;
    for (uint32_t links = 1; links <= TRANSPORT_LINKS_MAX; links++) {
        const uint32_t each = loss_lanes(links);
        fit &= each == 1 || (links + 1) * each <= TRANSPORT_SUBSCRIBERS_MAX;
    }
    OK(fit, "all members' spare connections to one of them have places there");
    OK_U64(loss_lanes(2), 3, "three regions have three each");
    OK_U64(loss_lanes(31), 3, "and 32 members");
    OK_U64(loss_lanes(47), 2, "48 have two");
    OK_U64(loss_lanes(48), 1, "and more than that one");
}

static void refused(void)
{
    struct loss_lane lane = {0};
    bool is_refused = false;
    for (uint32_t i = 1; i < LONELY; i++)
        is_refused |= loss_lane_is_refused(&lane, i, true);
    OK(!is_refused, "a lane may need some looks to get its connection");
    OK(!loss_lane_is_refused(&lane, LONELY - 1, true), "and has it when it is there for two");
    for (uint32_t i = LONELY; i < 2 * LONELY - 1; i++)
        is_refused |= loss_lane_is_refused(&lane, i % 2 * i, true);
    OK(!is_refused && loss_lane_is_refused(&lane, 2 * LONELY, true), "one that is ended time after time is refused");
    for (uint32_t i = 0; i < 100; i++)
        is_refused |= loss_lane_is_refused(&lane, 0, false);
    OK(!is_refused, "but not while the first lane has none either");
}

int main(void)
{
    loses();
    unknown();
    lanes();
    refused();
    return tap_done();
}
