/*
 * CAN_ACCESS of several clients: put off, decided together, each answered.
 */
#include "tests/lib/served.h"

#define ACCESS(key) "*2\r\n$10\r\nCAN_ACCESS\r\n$1\r\n" key "\r\n"

static struct output output;

static enum serve_status serve(struct session *session, const char *text, size_t *consumed)
{
    return served_call(session, text, &output, consumed);
}

static bool puts_off(struct session *session, const char *text)
{
    size_t consumed;
    return serve(session, text, &consumed) == SERVE_LATER && consumed == strlen(text) && output.size == 0;
}

static const char *answers(struct session *session, const char *text)
{
    size_t consumed;
    OK(serve(session, text, &consumed) == SERVE_MORE, "some are answered at once");
    return served.reply;
}

static const char *later(struct session *session)
{
    output = output_over(served.reply, sizeof served.reply);
    commands_answer(&served.commands, session, &output,
                    (struct turn){.now_ns = served.now_ns, .wall_ns = served.wall_ns});
    served.reply[output.size] = '\0';
    return served.reply;
}

static void test_put_off(void)
{
    struct session *first = &served.session, second = {0}, third = {0};
    size_t consumed;
    session_open(&second, &served.commands, 8, "127.0.0.1:50001");
    session_open(&third, &served.commands, 9, "127.0.0.1:50002");
    OK_STRING(answers(first, ACCESS("a")), ":1\r\n", "where nobody asks again");
    served.commands.puts_off = true;
    (void)served_ask("CAN_ACCESS c 100");
    OK(puts_off(first, ACCESS("a") ACCESS("b")), "two are put off");
    OK(puts_off(&second, ACCESS("c")), "so is another client's");
    OK_STRING(answers(&third, "PING\r\n" ACCESS("c")), "+PONG\r\n:0\r\n", "of who asks for anything else");
    OK_STRING(answers(&third, ACCESS("e") ACCESS("e") ACCESS("e") ACCESS("e") ACCESS("e")),
              ":1\r\n:1\r\n:1\r\n:1\r\n:1\r\n", "of who sends many");
    OK_STRING(answers(&third, "CAN_ACCESS a\r\n"), ":1\r\n", "of who says it in other words");
    OK(serve(&third, ACCESS("d") "*2\r\n$10\r", &consumed) == SERVE_MORE && consumed == strlen(ACCESS("d")) &&
           strcmp(served.reply, ":1\r\n") == 0,
       "and of who sends half of the next");
    OK_STRING(later(first), ":1\r\n:1\r\n", "the first client's are decided");
    OK_STRING(later(&second), ":0\r\n", "and the second's");
    OK(first->late_count == 0 && second.late_count == 0 && served.commands.late.count == 0,
       "nothing waits any more");
    OK_STRING(served_ask("PEEK a"), "[1 100 97 0 30 'default']", "each was charged once");
}

static void test_room(void)
{
    struct session clients[LATE_REQUESTS_MAX + 1];
    uint32_t late = 0, right = 0;
    for (uint32_t i = 0; i <= LATE_REQUESTS_MAX; i++) {
        clients[i] = (struct session){0};
        session_open(&clients[i], &served.commands, 10 + i, "127.0.0.1:50003");
        late += puts_off(&clients[i], ACCESS("f"));
    }
    OK_U64(late, LATE_REQUESTS_MAX, "one more than there is room for is answered at once");
    OK_STRING(served.reply, ":1\r\n", "and rightly");
    for (uint32_t i = 0; i < late; i++)
        right += strcmp(later(&clients[i]), ":1\r\n") == 0;
    OK_U64(right, late, "the others when all were heard");
    OK(puts_off(&clients[0], ACCESS("f")), "then there is room again");
    OK_STRING(later(&clients[0]), ":1\r\n", "and an answer");
}

/* With a cost they are grouped in another way. */
static void test_others(void)
{
    char text[64 * 40];
    size_t consumed, size = 0;
    for (int i = 0; i < 40; i++)
        size += (size_t)snprintf(text + size, sizeof text - size,
                                 "*3\r\n$10\r\nCAN_ACCESS\r\n$3\r\nh%02d\r\n$3\r\n%d\r\n", i, i == 39 ? 101 : 100);
    OK(serve(&served.session, text, &consumed) == SERVE_MORE && consumed == size && output.size == 160,
       "forty of another cost are answered at once");
    OK_STRING(served.reply + 152, ":1\r\n:0\r\n", "the last one, which costs too much, is refused");
    OK_STRING(served_ask("PEEK h20"), "[0 100 0 10 1000 'default']", "and the others were charged");
}

/* What is put off is decided under the rules that it was asked under. */
static void test_rules(void)
{
    served.commands.puts_off = false;
    OK(set_rules("- {id: few, by: user, rate: 2/h, burst: 2}"), "a rule about the service");
    served.commands.puts_off = true;
    OK(puts_off(&served.session, ACCESS("g") ACCESS("g") ACCESS("g")), "three are put off");
    OK_STRING(later(&served.session), ":1\r\n:1\r\n:0\r\n", "and decided by the rule");
    OK(strstr(served_ask("RULE LIST default"), "'allowed' 2 'denied' 1") != NULL, "which counts them");
    served.commands.puts_off = false;
    OK(set_rules("- {id: few, by: user, rate: 2/h, burst: 2}\n- {id: per-ip, by: ip, rate: 9/h, burst: 9}\n"
                 "- {id: all, by: [], rate: 9/h, burst: 9}"),
       "a rule by something else, and one about all");
    served.commands.puts_off = true;
    OK_STRING(answers(&served.session, ACCESS("h")), ":1\r\n", "of several keys none waits");
    OK_STRING(ask_words("RULE", "DEL", "default", "few", NULL), "1", "one goes");
    OK_STRING(ask_words("RULE", "DEL", "default", "all", NULL), "1", "and one more");
    OK(puts_off(&served.session, ACCESS("g")), "then they are put off again");
    OK_STRING(later(&served.session), ":1\r\n", "and count under the limit of the config");
}

int main(void)
{
    served_open();
    test_put_off();
    test_room();
    test_others();
    test_rules();
    served_close();
    return tap_done();
}
