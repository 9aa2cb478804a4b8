/*
 * Users: which command each role may call, which services, and that no way around leads past that.
 */
#include "commands/users.h"

#include "commands/call.h"
#include "tests/lib/served.h"

#include <sodium.h>

static struct users *users;

static void open_with(const char *password)
{
    static const struct users_settings settings = {
        .count = 7,
        .user = {{.name = "check", .roles = ROLE_CHECK, .secret = "s-check"},
                 {.name = "read", .roles = ROLE_READ, .secret = "s-read"},
                 {.name = "rules", .roles = ROLE_RULES, .secret = "s-rules"},
                 {.name = "admin", .roles = ROLE_ADMIN, .secret = "s-admin"},
                 {.name = "shop", .roles = ROLE_CHECK, .services = "shop, mail", .secret = "s-shop"},
                 {.name = "both", .roles = ROLE_CHECK | ROLE_READ, .secret = "s-both"},
                 {.name = "plain", .roles = ROLE_CHECK, .services = "default", .secret = "s-plain"}},
    };
    served_open();
    bool made = set_rules("rules: [{id: u, service: shop, by: user, rate: 1000/s}, "
                          "{id: u, service: other, by: user, rate: 1000/s}]");
    users = users_create(&settings);
    assert(made && users != NULL);
    served.commands.users = users;
    served.commands.password = password;
    session_close(&served.session, &served.commands);
    memset(&served.session, 0, sizeof served.session);
    session_open(&served.session, &served.commands, 9, "127.0.0.1:50000");
}

static void close_all(void)
{
    served_close();
    users_destroy(&users);
}

static bool log_in(const char *user)
{
    char line[64];
    (void)snprintf(line, sizeof line, "AUTH %s s-%s", user, user);
    served_ask("RESET");
    return strcmp(served_ask(line), "+OK") == 0;
}

static bool is_refused(const char *line)
{
    return strstr(served_ask(line), "!NOPERM ") != NULL;
}

/* Words that fit each command; what it then answers does not matter here. */
static const char *example_of(enum command_id id)
{
    static const char *const own[COMMAND_ID_COUNT] = {
        [COMMAND_RESERVE] = "RESERVE user=a TTL 1000",
        [COMMAND_COMMIT] = "COMMIT x 1",
        [COMMAND_RENEW] = "RENEW x 1000",
        [COMMAND_CL_THROTTLE] = "CL.THROTTLE k 1 1 1",
        [COMMAND_THROTTLE] = "THROTTLE k 1 1 1",
        [COMMAND_RULE] = "RULE LIST",
        [COMMAND_HEALTH] = "HEALTH shop",
        [COMMAND_CLIENT] = "CLIENT ID",
        [COMMAND_SELECT] = "SELECT 0",
        [COMMAND_RESET] = "RESET user=a",
        [COMMAND_COMMAND] = "COMMAND COUNT",
        [COMMAND_CONFIG] = "CONFIG GET save",
        [COMMAND_CLUSTER] = "CLUSTER NODES",
        [COMMAND_DEBUG] = "DEBUG HEAL",
    };
    static char line[64];
    const int arity = command_table[id].arity;
    if (own[id] != NULL)
        return own[id];
    (void)snprintf(line, sizeof line, "%s%s", command_table[id].name, arity == 2 || arity < -1 ? " x" : "");
    return line;
}

/* Commands that say who the client is, or end what the test needs. */
static bool is_left_out(enum command_id id)
{
    return id == COMMAND_HELLO || id == COMMAND_AUTH || id == COMMAND_QUIT || id == COMMAND_MULTI;
}

static void test_commands(void)
{
    static const char *const names[] = {"check", "read", "rules", "admin"};
    open_with(NULL);
    for (unsigned i = 0; i < COMMAND_ID_COUNT; i++)
        OK(is_left_out((enum command_id)i) || (command_table[i].flags & COMMAND_NO_AUTH) != 0 ||
               strcmp(served_ask(example_of((enum command_id)i)), "!NOAUTH Authentication required.") == 0,
           "%s needs a user", command_table[i].name);
    for (unsigned role = 0; role < 4; role++) {
        unsigned odd = 0, allowed = 0;
        OK(log_in(names[role]), "user %s", names[role]);
        for (unsigned i = 0; i < COMMAND_ID_COUNT; i++) {
            const bool may = command_table[i].roles == 0 || (command_table[i].roles & (1U << role)) != 0;
            if (is_left_out((enum command_id)i))
                continue;
            allowed += command_table[i].roles != 0 && may;
            if (is_refused(example_of((enum command_id)i)) == may)
                printf("# %u: %s: %s\n", ++odd, example_of((enum command_id)i), served.told);
        }
        OK(odd == 0 && allowed > 0, "may call %u commands that not everybody may, and no others", allowed);
    }
    close_all();
}

static void test_each(void)
{
    static const struct {
        const char *user, *line;
        bool may;
    } rows[] = {
        {"check", "CAN_ACCESS a", true},
        {"check", "CHECK user=a SERVICE shop", true},
        {"check", "PEEK user=a", true},
        {"check", "INFO", false},
        {"check", "RULE LIST", false},
        {"check", "RESET user=a", false},
        {"check", "HOT", false},
        {"read", "PEEK user=a", true},
        {"read", "EXPLAIN user=a", true},
        {"read", "RULE LIST", true},
        {"read", "RULE HISTORY", true},
        {"read", "CAN_ACCESS a", false},
        {"read", "CHECK user=a", false},
        {"read", "RULE DEL shop u", false},
        {"read", "RULE APPLY x", false},
        {"read", "HEALTH shop 0.5", false},
        {"read", "NODES", true},
        {"rules", "RULE GET shop u", true},
        {"rules", "RULE SET x", true},
        {"rules", "RULE STAGE x", true},
        {"rules", "RULE ROLLBACK shop u", true},
        {"rules", "RESET user=a", true},
        {"rules", "FORGET x", false},
        {"rules", "CHECK user=a", false},
        {"admin", "FORGET x", true},
        {"admin", "DEBUG HEAL", true},
        {"admin", "RULE LIST", false},
        {"admin", "CHECK user=a", false},
        {"shop", "CHECK user=a SERVICE shop", true},
        {"shop", "PEEK user=a SERVICE mail", true},
        {"shop", "CHECK user=a SERVICE other", false},
        {"shop", "CHECK user=a", false},
        {"shop", "CAN_ACCESS a", false},
        {"shop", "CL.THROTTLE k 1 1 1", false},
        {"shop", "THROTTLE k 1 1 1", false},
        {"shop", "RESERVE user=a TTL 1000 SERVICE other", false},
        {"shop", "RESERVE user=a TTL 1000 SERVICE shop", true},
        {"shop", "REFUND user=a SERVICE other", false},
        {"shop", "EXPLAIN user=a SERVICE other", false},
        {"shop", "HEALTH other 0.5", false},
        {"shop", "HEALTH shop", true},
        {"both", "INFO", true},
        {"both", "CHECK user=a SERVICE other", true},
    };
    open_with(NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (!log_in(rows[i].user))
            OK(false, "%s cannot log in", rows[i].user);
        OK(is_refused(rows[i].line) != rows[i].may, "%s %s %s", rows[i].user, rows[i].may ? "may" : "may not",
           rows[i].line);
        OK(served.told[0] != '\0' && is_refused(rows[i].line) != rows[i].may, "nor does it become otherwise");
    }
    close_all();
}

/* The words of an explanation are about the user's services alone, too. */
static void test_explanations(void)
{
    open_with(NULL);
    OK(log_in("both"), "a user for all services");
    served_ask("CHECK user=a SERVICE other");
    served_ask("EXPLAIN user=a");
    OK(served_told("rule u of other") && served_told("all services: "), "is told of rules of other services");
    OK(log_in("plain"), "a user for one service");
    served_ask("EXPLAIN user=a");
    OK(served_told("service default: 0 of 0 rules") && !served_told("other"), "is told of that one");
    close_all();
}

/* What others have taught the thread is not for those who may not ask it. */
static void test_ways_around(void)
{
    open_with(NULL);
    OK(log_in("both"), "a user for all services");
    for (int i = 0; i < 8; i++)
        served_ask("CHECK user=a SERVICE other\nCHECK user=b SERVICE other\n");
    OK(log_in("shop") && is_refused("CHECK user=c SERVICE other"), "a shape that is known is not for every user");
    OK(log_in("read"), "a user who only reads");
    OK(is_refused("CAN_ACCESS a") && is_refused("CHECK user=c SERVICE other"), "is not served by shapes either");
    served_ask("MULTI");
    OK(is_refused("CHECK user=a"), "nor in a transaction");
    served_ask("EXEC");
    OK(served_told("EXECABORT"), "which is then refused whole");
    close_all();

    open_with("sesame");
    OK_STRING(served_ask("AUTH sesame"), "+OK", "the password of the config is as before");
    OK(!is_refused("FORGET x") && !is_refused("CHECK user=a SERVICE other") && !is_refused("RULE LIST"),
       "its user may do all");
    served_ask("CLIENT INFO");
    OK(served_told(" user=default "), "and is called default");
    OK(strstr(served_ask("HELLO 2 AUTH read s-read"), "headgate") != NULL, "HELLO makes the client another user");
    served_ask("CLIENT INFO");
    OK(served_told(" user=read ") && is_refused("CHECK user=a"), "with what that one may do");
    served_ask("RESET");
    OK(strcmp(served_ask("CHECK user=a"), "!NOAUTH Authentication required.") == 0, "RESET makes it nobody");
    close_all();
}

/* The users are others while clients are connected. */
static void test_update(void)
{
    static const struct users_settings next = {
        .count = 3,
        .user = {{.name = "read", .roles = ROLE_CHECK, .secret = "s-other"},
                 {.name = "newcomer", .roles = ROLE_CHECK, .secret = "s-newcomer"},
                 {.name = "both", .roles = ROLE_CHECK, .services = "shop", .secret = "s-both"}},
    };
    static struct users_settings many;
    open_with(NULL);
    OK(log_in("both"), "a user who is asked often");
    for (int i = 0; i < 8; i++)
        served_ask("CHECK user=a SERVICE other\nCHECK user=b SERVICE other\n");
    users_update(users, &next);
    OK(is_refused("CHECK user=a SERVICE other"), "has a scope from now on, shapes or not");
    OK(!is_refused("CHECK user=a SERVICE shop"), "and serves within it");
    OK(is_refused("INFO"), "and has lost a role");
    const struct user *found;
    OK(users_find(users, bytes_of("read"), bytes_of("s-read"), &found) == SECRET_WRONG && found == NULL &&
           users_find(users, bytes_of("admin"), bytes_of("s-admin"), &found) == SECRET_WRONG,
       "an old secret and a former user are wrong");
    OK(log_in("newcomer"), "a new user is let in");

    users_update(users, &(struct users_settings){0});
    OK_STRING(served_ask("CHECK user=a SERVICE shop"), "!NOAUTH Authentication required.", "who is gone is nobody");
    served_ask("CLIENT INFO");
    users_update(users, &next);
    OK_STRING(served_ask("CHECK user=a SERVICE shop"), "!NOAUTH Authentication required.",
              "also when one of that name comes back");
    OK(log_in("newcomer") && served_ask("MULTI") != NULL && served_ask("CHECK user=a SERVICE shop") != NULL,
       "one who has queued something");
    const struct user *place = served.session.user;
    users_update(users, &(struct users_settings){.count = 1, .user = {{.name = "else", .roles = ROLE_ALL}}});
    users_update(users,
                 &(struct users_settings){.count = 4,
                                          .user = {{.name = "else"}, {.name = "b"}, {.name = "c"}, {.name = "d"}}});
    OK(place->name[0] != '\0' && strcmp(place->name, "newcomer") != 0, "another has the place");
    OK_STRING(served_ask("EXEC"), "!NOAUTH Authentication required.", "does nothing as that one");
    for (unsigned round = 0; round < 3; round++) {
        many.count = USERS_MAX;
        for (unsigned i = 0; i < USERS_MAX; i++)
            (void)snprintf(many.user[i].name, sizeof many.user[i].name, "%u-%u", round, i);
        users_update(users, &many);
    }
    OK(users->count == USERS_MAX && users_named(users, bytes_of("2-63")) != NULL &&
           users_named(users, bytes_of("1-63")) == NULL,
       "there is room for all, each time");
    session_close(&served.session, &served.commands);
    close_all();
}

int main(void)
{
    if (sodium_init() < 0)
        return 1;
    test_commands();
    test_each();
    test_explanations();
    test_ways_around();
    test_update();
    return tap_done();
}
