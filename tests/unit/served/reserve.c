/*
 * What reservations may hold: at most so many on a node, of a service and of an address, and none for longer than the
 * config says. Whoever meets a limit is told its name.
 */
#include "tests/lib/served.h"

static char last_id[33];

/* The answer but for the reservation's id, which is kept. */
static const char *reserve(const char *line)
{
    static char text[256];
    (void)snprintf(text, sizeof text, "%.200s", served_ask(line));
    char *id = strstr(text, "' '");
    if (id)
        (void)snprintf(last_id, sizeof last_id, "%.32s", id + 3);
    return text[0] == '!' ? text : text[1] == '1' ? "reserved" : "denied";
}

#define FULL_SERVICE                                                                                               \
    "!ERR service 'shop' has too many reservations open on this node: expected fewer than the config's "           \
    "rules.service_reservations"

static void test_bounds(void)
{
    char line[64];
    served_plan(1024, 0);
    served.options.reservations_max = 8;
    served.options.service_reservations_max = 6;
    served_begin();
    served.commands.reservation_ttl_max_ms = 60000;
    OK(set_rules("rules: [{id: a, service: shop, rate: 100/m}, {id: b, service: forum, rate: 100/m}]"),
       "two services");
    for (int i = 0; i < 6; i++)
        OK_STRING(reserve("RESERVE greedy TTL 60000 SERVICE shop"), "reserved", "one client reserves");
    OK_STRING(reserve("RESERVE greedy TTL 60000 SERVICE shop"), FULL_SERVICE, "until its service has its part");
    OK_STRING(reserve("RESERVE other TTL 60000 SERVICE shop"), FULL_SERVICE, "which others of it feel as well");
    OK_STRING(served_ask("PEEK other SERVICE shop"), "[1 100 100 0 0 'a']", "and nothing was taken");
    OK_STRING(reserve("RESERVE u TTL 60000 SERVICE forum"), "reserved", "another service finds room");
    OK_STRING(reserve("RESERVE u TTL 60000 SERVICE forum"), "reserved", "up to the last place");
    OK_STRING(reserve("RESERVE u TTL 60000 SERVICE forum"),
              "!ERR too many reservations are open on this node: expected fewer than the config's reservations",
              "then the node is full");
    (void)served_ask("INFO clients");
    OK(served_told("reservations_refused:3\r\n"), "INFO counts what was refused");
    (void)snprintf(line, sizeof line, "CANCEL %s", last_id);
    OK_STRING(served_ask(line), "1", "one is given up");
    OK_STRING(reserve("RESERVE u TTL 60000"), "reserved", "and its place is free for the service default");
    served_wait_ms(61000);
    OK_STRING(reserve("RESERVE greedy TTL 60000 SERVICE shop"), "reserved", "at their end all are free again");
    served_close();
}

#define FULL_ADDRESS                                                                                               \
    "!ERR clients of your address have too many reservations open on this node: expected fewer than the config's " \
    "address_reservations"

/* One client has its part, by however many connections; clients at other addresses find room. */
static void test_addresses(void)
{
    char line[64];
    served_plan(1024, 0);
    served.options.reservations_max = 8;
    served.options.service_reservations_max = 6;
    served.options.address_reservations_max = 3;
    served_begin();
    OK(set_rules("rules: [{id: a, service: shop, rate: 100/m}]"), "a service");
    for (int i = 0; i < 3; i++) {
        (void)snprintf(line, sizeof line, "RESERVE greedy-%d TTL 60000 SERVICE shop", i);
        OK_STRING(reserve(line), "reserved", "a client at an address reserves, by another key each time");
        (void)snprintf(served.session.address, sizeof served.session.address, "127.0.0.1:%d", 50001 + i);
    }
    OK_STRING(reserve("RESERVE other TTL 60000 SERVICE shop"), FULL_ADDRESS, "until its address has its part");
    OK_STRING(reserve("RESERVE other TTL 60000"), FULL_ADDRESS, "of all services together");
    OK_STRING(served_ask("PEEK other SERVICE shop"), "[1 100 100 0 0 'a']", "and nothing was taken");
    (void)snprintf(served.session.address, sizeof served.session.address, "127.0.0.2:50000");
    OK_STRING(reserve("RESERVE other TTL 60000 SERVICE shop"), "reserved", "a client at another one finds room");
    (void)snprintf(served.session.address, sizeof served.session.address, "127.0.0.1:50000");
    (void)snprintf(line, sizeof line, "RENEW %s 60000", last_id);
    OK_STRING(served_ask(line), "1", "what exists can be renewed from anywhere");
    served_wait_ms(61000);
    OK_STRING(reserve("RESERVE greedy TTL 60000 SERVICE shop"), "reserved", "at their end all are free again");
    served_close();
}

static void test_ttl(void)
{
    char line[64];
    served_open();
    served.commands.reservation_ttl_max_ms = 60000;
    OK_STRING(reserve("RESERVE u TTL 60001"),
              "!ERR TTL is '60001': expected milliseconds from 1 to 60000 (reservation_ttl_max)", "too long a TTL");
    OK_STRING(served_ask("PEEK u"), "[1 100 100 0 0 'default']", "takes nothing");
    OK_STRING(reserve("RESERVE u TTL 60000"), "reserved", "the longest one");
    (void)snprintf(line, sizeof line, "RENEW %s 60001", last_id);
    OK_STRING(served_ask(line), "!ERR TTL is '60001': expected milliseconds from 1 to 60000 (reservation_ttl_max)",
              "nor can it be had by renewing");
    (void)snprintf(line, sizeof line, "RENEW %s 60000", last_id);
    OK_STRING(served_ask(line), "1", "which may be done again and again within it");
    served_close();
}

/* Places of reservations are free at the end of their TTL: the answer to RESERVE says so as well. */
static void test_leases(void)
{
    served_plan(1024, 0);
    served_begin();
    OK(set_rules("rules: [{id: l, service: shop, algorithm: concurrency, limit: 2, window: 10s}]"), "places");
    (void)reserve("RESERVE u TTL 3000 SERVICE shop");
    OK_STRING(served_ask("PEEK u COST 0 SERVICE shop"), "[1 2 1 0 3000 'l']", "a place is free when its TTL ends");
    served_wait_ms(1000);
    const char *answer = served_ask("RESERVE u TTL 4000 SERVICE shop");
    OK(strncmp(answer, "[1 2 0 0 4000 'l' '", 19) == 0, "RESERVE says so: %s", answer);
    answer = served_ask("RESERVE v TTL 20000 SERVICE shop");
    OK(strncmp(answer, "[1 2 1 0 10000 'l' '", 20) == 0, "... and no later than at the end of the lease: %s",
       answer);
    OK_STRING(served_ask("RESERVE u TTL 1000 SERVICE shop"), "[0 2 0 2000 4000 'l' (nil)]",
              "who is refused is told");
    served_close();
}

static const char *commit(const char *words)
{
    char line[128];
    (void)snprintf(line, sizeof line, "COMMIT %s %s", last_id, words);
    return served_ask(line);
}

/* Rules that never deny take no more than fits: they do not say how much was charged. */
static void test_charged(void)
{
    served_plan(1024, 0);
    served.options.reservations_max = 8;
    served_begin();
    served.commands.reservation_ttl_max_ms = 60000;
    OK(set_rules("rules:\n"
                 "- {id: hard, service: s, algorithm: fixed_window, limit: 30, window: 1h}\n"
                 "- {id: soft, service: s, algorithm: fixed_window, limit: 4, window: 1h, mode: soft}\n"
                 "- {id: shade, service: s, algorithm: fixed_window, limit: 3, window: 1h, mode: shadow}\n"
                 "- {id: bytes, service: s, counts: bytes, algorithm: fixed_window, limit: 9, window: 1h}\n"
                 "- {id: size, service: s, counts: bytes, by: [], algorithm: fixed_window, limit: 5, window: 1h, "
                 "mode: soft}\n"
                 "- {id: grace, service: g, algorithm: fixed_window, limit: 4, window: 1h, mode: soft}\n"),
       "rules that deny, and others");
    OK_STRING(reserve("RESERVE a TTL 60000 SERVICE s COST 2"), "reserved", "all of them hold something");
    OK_STRING(commit("5"), "5", "the rule that denies says what was charged");
    OK_STRING(reserve("RESERVE b TTL 60000 SERVICE s COST 6"), "reserved", "one alone");
    OK_STRING(commit("40"), "30", "as far as its limit goes");
    OK_STRING(reserve("RESERVE c TTL 60000 SERVICE s COST 1 COST bytes=3"), "reserved", "with a name");
    OK_STRING(commit("1 bytes=20"), "[1 9]", "for each name");
    OK_STRING(reserve("RESERVE d TTL 60000 SERVICE g"), "reserved", "a soft rule alone");
    OK_STRING(commit("20"), "4", "says it itself");
    served_close();
}

int main(void)
{
    test_bounds();
    test_charged();
    test_addresses();
    test_ttl();
    test_leases();
    return tap_done();
}
