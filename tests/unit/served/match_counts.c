/*
 * Rules that count something by a name (`counts`): what clients read, and a model of windows that count requests, bytes
 * and rows of the same users, all or nothing.
 */
#include "base/random.h"
#include "tests/lib/served.h"

static bool answers_as(const char *line, const char *begin)
{
    return strncmp(served_ask(line), begin, strlen(begin)) == 0;
}
#define ANSWERS(line, begin) OK(answers_as(line, begin), "%s: %s", line, served.told)

static void checks(void)
{
    OK(set_rules(
           "rules:\n"
           "- {id: requests, service: c, algorithm: fixed_window, limit: 10, window: 1h}\n"
           "- {id: traffic, service: c, counts: bytes, algorithm: fixed_window, limit: 1000, window: 1h}\n"
           "- {id: upload, service: c, counts: bytes, endpoint: /up, algorithm: fixed_window, limit: 500, "
           "window: 1h}\n"
           "- {id: rows, service: c, counts: rows, by: [], algorithm: fixed_window, limit: 50, window: 1h}\n"),
       "four rules");
    ANSWERS("CHECK a SERVICE c", "[1 10 9 0 ");
    ANSWERS("CHECK a SERVICE c COST bytes=600 RULE traffic", "[1 1000 400 0 ");
    ANSWERS("CHECK a SERVICE c COST bytes=600", "[0 1000 400 ");
    OK(served_told("'traffic']"), "the rule that counts bytes refuses: %s", served.told);
    ANSWERS("PEEK a SERVICE c", "[1 10 9 0 ");
    ANSWERS("CHECK a SERVICE c ENDPOINT /up COST bytes=600", "[0 500 500 -1 ");
    ANSWERS("CHECK a SERVICE c COST 3 COST bytes=400 COST rows=49", "[1 1000 0 0 ");
    ANSWERS("CHECK a SERVICE c COST 0 COST rows=2", "[0 50 1 ");
    ANSWERS("CHECK b SERVICE c COST rows=1 RULE rows", "[1 50 0 0 ");
    ANSWERS("CHECK b SERVICE c COST pages=7", "[1 10 9 0 ");
    ANSWERS("CHECK b SERVICE c RULE traffic", "!ERR rule 'traffic' of service 'c' is not about this request");
    OK_STRING(served_ask("REFUND a SERVICE c COST 2 COST bytes=300 COST rows=1"), "1",
              "the least of what came back is told");
    ANSWERS("PEEK a SERVICE c COST 0 COST bytes=0 RULE traffic", "[1 1000 300 0 ");
    ANSWERS("PEEK a SERVICE c COST 0", "[1 10 8 0 ");
    (void)served_ask("EXPLAIN a SERVICE c");
    OK(served_told("under rule traffic of c") && served_told("under rule rows of c") &&
           served_told("by user, endpoint *, counts bytes, enforce"),
       "EXPLAIN is about all rules");
    OK_STRING(served_ask("REFUND a SERVICE c COST 0 COST bytes=100"), "100", "a cost of 0 has no say in it");
    OK_STRING(served_ask("RESET a SERVICE c"), "3", "and so is RESET");
    ANSWERS("PEEK a SERVICE c COST bytes=1000 RULE traffic", "[1 1000 1000 0 ");
    ANSWERS("CHECK a SERVICE c COST bytes=1 DRAIN", "!ERR DRAIN with COST name=n");
}

/* Each name has a cost of its own when a reservation is made, and another one when it ends. */
static void reservations(void)
{
    char line[128];
    ANSWERS("RESERVE d SERVICE c TTL 60000 COST 2 COST bytes=600 COST rows=5", "[1 ");
    char *id = strrchr(served.told, '\'');
    OK(id != NULL && id > served.told + 32, "requests, bytes and rows are reserved together: %s", served.told);
    const char *reservation = id - 32;
    char kept[33];
    (void)snprintf(kept, sizeof kept, "%.32s", reservation);
    ANSWERS("PEEK d SERVICE c COST 0", "[1 10 8 0 ");
    ANSWERS("PEEK d SERVICE c COST 0 COST bytes=0 RULE traffic", "[1 1000 400 0 ");
    ANSWERS("RESERVE d SERVICE c TTL 60000 COST bytes=401", "[0 1000 400 ");
    (void)snprintf(line, sizeof line, "COMMIT %s 1 bytes", kept);
    ANSWERS(line, "!ERR 'bytes' after the cost: expected name=n, e.g. bytes=1500");
    (void)snprintf(line, sizeof line, "COMMIT %s 1 bytes=1 bytes=2", kept);
    ANSWERS(line, "!ERR a second cost of 'bytes': expected each name once");
    (void)snprintf(line, sizeof line, "COMMIT %s 1 bytes=700 pages=3", kept);
    OK_STRING(served_ask(line), "[1 700 3]", "each is told what was charged, and what nobody counts what was said");
    ANSWERS("PEEK d SERVICE c COST 0", "[1 10 9 0 ");
    ANSWERS("PEEK d SERVICE c COST 0 COST bytes=0 RULE traffic", "[1 1000 300 0 ");
    ANSWERS("PEEK d SERVICE c COST 0 COST rows=0 RULE rows", "[1 50 45 0 ");
    OK(served_ask(line)[0] == '!' && served_told("NORESERVATION"), "once");
    ANSWERS("RESERVE d SERVICE c TTL 60000 COST bytes=100", "[1 ");
    (void)snprintf(kept, sizeof kept, "%.32s", strrchr(served.told, '\'') - 32);
    (void)snprintf(line, sizeof line, "COMMIT %s 3 bytes=1000", kept);
    OK_STRING(served_ask(line), "[3 300]", "more is taken as far as each limit allows");
    ANSWERS("RESET d SERVICE c", "3");
    ANSWERS("RESERVE d SERVICE c TTL 60000 COST bytes=100", "[1 ");
    (void)snprintf(line, sizeof line, "COMMIT %.32s 0", strrchr(served.told, '\'') - 32);
    OK_STRING(served_ask(line), "0", "a cost that is not named is used as it was reserved");
    ANSWERS("PEEK d SERVICE c COST 0 COST bytes=0 RULE traffic", "[1 1000 900 0 ");
    ANSWERS("PEEK d SERVICE c COST 0", "[1 10 10 0 ");
    ANSWERS("RESET d SERVICE c", "1");
}

static void limits_of_the_config(void)
{
    OK(set_rules("{id: traffic, counts: bytes, rate: 1000/h}"), "a rule of the default service");
    ANSWERS("CHECK z COST bytes=10", "[1 100 99 0 ");
    OK(served_told("'default']"), "the limit of the config counts requests all the same: %s", served.told);
    ANSWERS("CHECK z COST bytes=1000", "[0 1000 990 ");
}

static void canary_and_versions(void)
{
    OK(set_rules("{id: v, service: v, algorithm: fixed_window, limit: 10, window: 1h}"), "a version");
    ANSWERS("CHECK a SERVICE v COST 9", "[1 10 1 0 ");
    (void)ask_words("RULE", "APPLY",
                    "{id: v, service: v, counts: bytes, algorithm: fixed_window, limit: 20, window: 1h}", "CANARY",
                    "50%", NULL);
    OK(served_told("its canary counts something else"), "a canary counts the same: %s", served.told);
    OK(set_rules("{id: v, service: v, counts: bytes, algorithm: fixed_window, limit: 20, window: 1h}"),
       "a version that counts something else");
    ANSWERS("CHECK a SERVICE v COST bytes=20", "[1 20 0 0 ");
    OK(served_told("'v']"), "begins anew: %s", served.told);
}

/* ---- a model ---- */

enum { USERS = 3, THINGS = 3, ROUNDS = 400 };
static const uint64_t limit_of[THINGS] = {60, 4000, 700};
static const char *const cost_of[THINGS] = {"", "bytes=", "rows="};

/* True if each thing that the request names has room, or there is nothing of it to take. */
static bool model_takes(uint64_t left[THINGS], const uint64_t *cost)
{
    for (int i = 0; i < THINGS; i++)
        if (cost[i] > left[i])
            return false;
    for (int i = 0; i < THINGS; i++)
        left[i] -= cost[i];
    return true;
}

static void model(void)
{
    struct random random;
    uint64_t left[USERS][THINGS];
    uint32_t wrong = 0, allowed_count = 0;
    random_seed(&random, 11);
    OK(set_rules("rules:\n"
                 "- {id: n, service: m, algorithm: fixed_window, limit: 60, window: 1h}\n"
                 "- {id: b, service: m, counts: bytes, algorithm: fixed_window, limit: 4000, window: 1h}\n"
                 "- {id: r, service: m, counts: rows, algorithm: fixed_window, limit: 700, window: 1h}\n"),
       "three rules");
    for (int user = 0; user < USERS; user++)
        memcpy(left[user], limit_of, sizeof limit_of);
    for (int i = 0; i < ROUNDS; i++) {
        char line[160];
        const uint64_t user = random_below(&random, USERS);
        uint64_t cost[THINGS] = {1, 0, 0};
        size_t size = (size_t)snprintf(line, sizeof line, "CHECK u%u SERVICE m", (unsigned)user);
        for (int k = 0; k < THINGS; k++) {
            if (random_below(&random, 2) == 0)
                continue;
            cost[k] = random_below(&random, limit_of[k] / 20);
            size += (size_t)snprintf(line + size, sizeof line - size, " COST %s%u", cost_of[k], (unsigned)cost[k]);
        }
        const bool allowed = model_takes(left[user], cost);
        wrong += (strncmp(served_ask(line), "[1 ", 3) == 0) != allowed;
        allowed_count += allowed;
    }
    OK_U64(wrong, 0, "%d requests are decided as a model says", ROUNDS);
    OK(allowed_count > ROUNDS / 4 && allowed_count < ROUNDS, "some are refused: %u of %d", ROUNDS - allowed_count,
       ROUNDS);
}

int main(void)
{
    served_open();
    checks();
    reservations();
    limits_of_the_config();
    canary_and_versions();
    model();
    served_close();
    return tap_done();
}
