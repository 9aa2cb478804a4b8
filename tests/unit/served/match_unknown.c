/*
 * Requests that name a service or a rule which does not exist: an error that says so, or, where the config asks for
 * it, no limit; and while rules of peers may be on their way, an error that says to ask again.
 */
#include "tests/lib/served.h"

#define UNKNOWN "!ERR unknown service 'nope': RULE LIST names them all"
#define LOADING(what)                                                                                              \
    "!LOADING " what " is not known here yet, and rules of peers are on their way: ask again, or another node"

/* Every command that takes a service, each as a client would write it. */
static const char *const asking[] = {
    "CHECK u SERVICE nope", "CHECK u SERVICE nope VERBOSE",    "CHECK u SERVICE nope ENDPOINT /x TIER pro WAIT",
    "PEEK u SERVICE nope",  "EXPLAIN u SERVICE nope",          "REFUND u SERVICE nope",
    "RESET u SERVICE nope", "RESERVE u TTL 1000 SERVICE nope", "CHECK u SERVICE nope RULE r",
};

static void test_error(void)
{
    served_open();
    OK(set_rules("rules: [{id: r, service: s, rate: 5/m}, {id: quiet, service: idle, rate: 1/m, mode: off}]"),
       "two services have rules");
    for (size_t i = 0; i < sizeof asking / sizeof asking[0]; i++)
        OK_STRING(served_ask(asking[i]), UNKNOWN, "%s", asking[i]);
    OK_STRING(served_send(bytes_of("CHECK u SERVICE s\nCHECK u SERVICE nope\nCHECK u SERVICE s\n")),
              "[1 5 4 0 12000 'r'] " UNKNOWN " [1 5 3 0 24000 'r']", "among others, that one alone is refused");
    OK_STRING(served_ask("CHECK u SERVICE s RULE q"),
              "!ERR unknown rule 'q' of service 's': RULE LIST names them all",
              "a rule that its service has not got");
    OK_STRING(served_ask("CHECK u"), "[1 100 99 0 10 'default']", "without SERVICE the config's limit counts");
    OK_STRING(served_ask("CHECK u SERVICE default"), "[1 100 98 0 20 'default']",
              "and so it does by the name default");
    OK_STRING(served_ask("CHECK u SERVICE idle"), "[1 -1 -1 0 0 '']", "a service whose rules are off is known");
    OK_STRING(served_ask("CHECK ip=1 SERVICE s"), "[1 -1 -1 0 0 '']", "so is one whose rules count something else");
    OK_STRING(served_ask("RULE DEL s r"), "1", "the last rule of a service ends");
    OK(strncmp(served_ask("CHECK u SERVICE s"), "!ERR unknown service 's'", 24) == 0, "and with it the service: %s",
       served.told);
    served_close();
}

static void test_open(void)
{
    served_plan(1024, 0);
    served.options.unknown_service_open = true;
    served_begin();
    OK_STRING(served_ask("CHECK u SERVICE nope"), "[1 -1 -1 0 0 '']",
              "open: nothing limits a service without rules");
    OK_STRING(served_ask("RESERVE u TTL 1000 SERVICE nope COST 7") + strlen("[1 -1 -1 0 0 '' '"), served.told + 17,
              "... which can be reserved");
    OK(strncmp(served.told, "[1 -1 -1 0 0 '' '", 17) == 0, "... as well: %s", served.told);
    OK_STRING(served_ask("CHECK u SERVICE nope RULE r"), UNKNOWN,
              "a rule that is named must be there all the same");
    OK_STRING(served_ask("CHECK u RULE r"), "!ERR unknown rule 'r' of service 'default': RULE LIST names them all",
              "... also in the service default");
    served_close();
}

/* A daemon that joins may lack rules that its peers have had for long. */
static void test_joining(void)
{
    served_plan(1024, 1);
    served.options.join_timeout_ns = 0;
    served_begin();
    OK_STRING(served_ask("CHECK u SERVICE nope"), LOADING("service 'nope'"), "while it joins: ask again");
    OK_STRING(served_ask("CHECK u RULE r"), LOADING("rule 'r' of service 'default'"), "... also about a rule");
    OK_STRING(served_ask("CHECK u"), "[0 100 0 100 0 'default']", "what it knows is refused until it has joined");
    served_close();

    served_open_with(1024, 1);
    OK_STRING(served_ask("CHECK u SERVICE nope"), UNKNOWN, "who goes on alone has the rules that it has");
    served_close();
}

int main(void)
{
    test_error();
    test_open();
    test_joining();
    return tap_done();
}
