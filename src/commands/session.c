/*
 * Serves what a connection says about itself as ordinary client libraries do: HELLO, AUTH, CLIENT
 * and the like.
 */
#include "commands/call.h"

#include <assert.h>

static const char wrong_password[] = "WRONGPASS invalid username-password pair or user is disabled.";
static const char no_password[] = "ERR AUTH called without any password configured: remove the password from the "
                                  "client, or set one in the config";

void session_reset(struct session *session, struct commands *commands)
{
    transaction_end(session, commands);
    session->protocol = 2;
    session->authenticated = !ask_needs_password(commands);
    session->user = &user_default;
    session->user_edition = user_default.edition;
    session->name[0] = '\0';
}

void session_forget_user(struct session *session)
{
    session->authenticated = false;
    session->user = &user_default;
    session->user_edition = user_default.edition;
}

void call_ping(struct call *call)
{
    if (call->words->count > 2)
        call_wrong_arity(call, NULL, &command_table[COMMAND_PING]);
    else if (call->words->count == 2)
        answer_bulk(&call->answer, call->words->args[1]);
    else
        answer_simple(&call->answer, "PONG");
}

/* Compares keyed hashes, so that the time of the comparison tells nothing about the password. */
static bool is_default(const struct commands *commands, struct bytes user, struct bytes password)
{
    if (commands->password == NULL)
        return false;
    struct bytes expected = bytes_of(commands->password);
    struct key_id given_hash = hash_128(&commands->hash_key, password.data, password.size);
    struct key_id expected_hash = hash_128(&commands->hash_key, expected.data, expected.size);
    bool same = ((given_hash.high ^ expected_hash.high) | (given_hash.low ^ expected_hash.low)) == 0;
    return same && bytes_equal(user, bytes_of(user_default.name));
}

enum password_verdict ask_password(struct commands *commands, const struct credentials *credentials,
                                   uint64_t now_ns, const struct user **user, uint64_t *barred_ns)
{
    const char *address = credentials->address;
    const uint64_t guesser = guessers_address(&commands->hash_key, bytes_of(address));
    *barred_ns = guessers_barred_ns(&commands->guessers, guesser, now_ns);
    if (*barred_ns > 0) {
        commands->stats.auth_barred++;
        return PASSWORD_BARRED;
    }
    enum secret_outcome outcome = users_find(commands->users, credentials->user, credentials->password, user);
    if (is_default(commands, credentials->user, credentials->password)) {
        outcome = SECRET_RIGHT;
        *user = &user_default;
    }
    if (outcome != SECRET_WRONG)
        return outcome == SECRET_RIGHT ? PASSWORD_RIGHT : PASSWORD_WAITS;
    commands->stats.auth_failures++;
    const bool barred = guessers_note(&commands->guessers, guesser, now_ns);
    if (commands->refused != NULL)
        commands->refused(commands->context, address, barred);
    return PASSWORD_WRONG;
}

/* Delays the answer, each time for longer, so that guessing takes time. Other connections are served meanwhile. */
static void refuse(struct call *call)
{
    struct session *session = call->session;
    if (++session->refused < SESSION_REFUSED_MAX) {
        session->waits_refused = true;
        return;
    }
    answer_error(&call->answer, "%s", wrong_password);
    call->close = true;
}

uint32_t session_delay_ms(const struct session *session)
{
    if (session->waits_check)
        return SESSION_CHECK_MS;
    assert(session->refused > 0 && session->refused < SESSION_REFUSED_MAX);
    return (uint32_t)SESSION_DELAY_MS << (session->refused - 1);
}

void session_resume_refused(struct session *session, struct answer *answer)
{
    session->waits_refused = false;
    answer_error(answer, "%s", wrong_password);
}

bool session_is_known(const struct session *session)
{
    return session->authenticated;
}

/* NULL: the call has answered an error, or will. */
static const struct user *authenticate(struct call *call, struct bytes name, struct bytes password)
{
    if (!ask_needs_password(call->commands)) {
        answer_error(&call->answer, "%s", no_password);
        return NULL;
    }
    const struct credentials credentials = {call->session->address, name, password};
    const struct user *user = NULL;
    uint64_t barred_ns;
    switch (ask_password(call->commands, &credentials, call->now_ns, &user, &barred_ns)) {
    case PASSWORD_RIGHT:
        return user;
    case PASSWORD_WAITS:
        call->session->waits_check = true;
        return NULL;
    case PASSWORD_WRONG:
        refuse(call);
        return NULL;
    case PASSWORD_BARRED:
        answer_error(&call->answer,
                     "WRONGPASS too many wrong passwords came from this address: none is looked at for %lld ms",
                     (long long)call_ms(barred_ns));
        call->close = true;
        return NULL;
    }
    return NULL;
}

/* The client is `user` from now on. */
static void let_in(struct session *session, const struct user *user)
{
    session->authenticated = true;
    session->user = user;
    session->user_edition = user->edition;
    session->refused = 0;
}

void call_auth(struct call *call)
{
    const struct resp_command *words = call->words;
    if (words->count > 3) {
        call_wrong_arity(call, NULL, &command_table[COMMAND_AUTH]);
        return;
    }
    struct bytes name = words->count == 3 ? words->args[1] : bytes_of(user_default.name);
    const struct user *user = authenticate(call, name, words->args[words->count - 1]);
    if (user == NULL)
        return;
    let_in(call->session, user);
    answer_simple(&call->answer, "OK");
}

/* A name must be printable and without blanks, because it stands in lists of clients. */
static bool name_fits(struct bytes name)
{
    if (name.size >= SESSION_NAME_BYTES)
        return false;
    for (size_t i = 0; i < name.size; i++)
        if (name.data[i] < '!' || name.data[i] > '~')
            return false;
    return true;
}

static void copy_name(char *to, struct bytes name)
{
    assert(name.size < SESSION_NAME_BYTES);
    if (name.size > 0)
        memcpy(to, name.data, name.size);
    to[name.size] = '\0';
}

static void answer_bad_name(struct call *call)
{
    answer_error(
        &call->answer,
        "ERR Client names cannot contain spaces, newlines or special characters, and have at most %d bytes",
        SESSION_NAME_BYTES - 1);
}

static void answer_hello(struct call *call)
{
    struct answer *answer = &call->answer;
    answer->protocol = call->session->protocol;
    answer_map(answer, 7);
    answer_pair_text(answer, "server", "headgate");
    answer_pair_text(answer, "version", call->commands->version);
    answer_pair_integer(answer, "proto", call->session->protocol);
    answer_pair_count(answer, "id", call->session->id);
    answer_pair_text(answer, "mode", "standalone");
    answer_pair_text(answer, "role", "master");
    answer_pair_array(answer, "modules", 0);
}

/* Checks all options before any takes effect. */
void call_hello(struct call *call)
{
    const struct resp_command *words = call->words;
    uint64_t protocol = call->session->protocol;
    const struct user *user = call->session->authenticated ? call->session->user : NULL;
    bool named = false;
    struct bytes name = {0};
    if (words->count > 1 && (!word_number(words->args[1], 3, &protocol) || protocol < 2)) {
        answer_error(&call->answer, "NOPROTO unsupported protocol version: expected 2 or 3");
        return;
    }
    for (uint32_t i = 2; i < words->count;) {
        uint32_t left = words->count - i;
        if (word_is(words->args[i], "auth") && left >= 3) {
            call->work += command_table[COMMAND_AUTH].work; /* may be said many times */
            user = authenticate(call, words->args[i + 1], words->args[i + 2]);
            if (user == NULL)
                return;
            i += 3;
        } else if (word_is(words->args[i], "setname") && left >= 2) {
            name = words->args[i + 1];
            named = true;
            if (!name_fits(name)) {
                answer_bad_name(call);
                return;
            }
            i += 2;
        } else {
            answer_error(&call->answer, "ERR syntax error in HELLO option '%.*s': expected %s",
                         call_shown(words->args[i]), words->args[i].data, command_table[COMMAND_HELLO].syntax);
            return;
        }
    }
    if (user == NULL) {
        answer_error(&call->answer,
                     "NOAUTH HELLO must be called with the client already authenticated, otherwise the "
                     "HELLO <proto> AUTH <user> <pass> option can be used");
        return;
    }
    let_in(call->session, user);
    call->session->protocol = (uint8_t)protocol;
    if (named)
        copy_name(call->session->name, name);
    answer_hello(call);
}

/* ---- CLIENT ---- */

static void set_name(struct call *call, char *where, struct bytes name)
{
    if (!name_fits(name)) {
        answer_bad_name(call);
        return;
    }
    copy_name(where, name);
    answer_simple(&call->answer, "OK");
}

static void set_info(struct call *call)
{
    struct bytes what = call->words->args[2], value = call->words->args[3];
    if (word_is(what, "lib-name"))
        set_name(call, call->session->library, value);
    else if (word_is(what, "lib-ver"))
        set_name(call, call->session->library_version, value);
    else
        answer_error(&call->answer, "ERR Unrecognized option '%.*s': expected LIB-NAME or LIB-VER",
                     call_shown(what), what.data);
}

static void answer_client_line(struct call *call)
{
    const struct session *session = call->session;
    size_t begun = answer_bulk_begin(&call->answer);
    output_print(call->answer.output, "id=%llu addr=%s name=%s db=0 resp=%u user=%s lib-name=%s lib-ver=%s\n",
                 (unsigned long long)session->id, session->address, session->name, session->protocol,
                 session->user->name, session->library, session->library_version);
    answer_bulk_end(&call->answer, begun);
}

static void answer_ok_to(struct call *call, bool sense, const char *expected)
{
    if (sense)
        answer_simple(&call->answer, "OK");
    else
        answer_error(&call->answer, "ERR syntax error: expected %s", expected);
}

void call_client(struct call *call)
{
    const struct bytes *args = call->words->args;
    enum subcommand_id id = call_subcommand(call, COMMAND_CLIENT);
    if (id == SUBCOMMAND_CLIENT_SETNAME)
        set_name(call, call->session->name, args[2]);
    else if (id == SUBCOMMAND_CLIENT_GETNAME && call->session->name[0] == '\0')
        answer_null(&call->answer);
    else if (id == SUBCOMMAND_CLIENT_GETNAME)
        answer_text(&call->answer, call->session->name);
    else if (id == SUBCOMMAND_CLIENT_SETINFO)
        set_info(call);
    else if (id == SUBCOMMAND_CLIENT_ID)
        answer_integer(&call->answer, (int64_t)call->session->id);
    else if (id == SUBCOMMAND_CLIENT_INFO || id == SUBCOMMAND_CLIENT_LIST)
        answer_client_line(call);
    else if (id == SUBCOMMAND_CLIENT_NO_EVICT || id == SUBCOMMAND_CLIENT_NO_TOUCH)
        answer_ok_to(call, word_is(args[2], "on") || word_is(args[2], "off"), "ON or OFF");
    else if (id == SUBCOMMAND_CLIENT_REPLY)
        answer_ok_to(call, word_is(args[2], "on"), "ON: every command is answered");
    else
        assert(id == SUBCOMMAND_ID_COUNT); /* call_subcommand has answered */
}

void call_select(struct call *call)
{
    uint64_t database;
    if (word_number(call->words->args[1], 0, &database))
        answer_simple(&call->answer, "OK");
    else
        answer_error(&call->answer, "ERR DB index is out of range: expected 0, there is no other");
}

void call_reset(struct call *call)
{
    session_reset(call->session, call->commands);
    call->answer.protocol = call->session->protocol;
    answer_simple(&call->answer, "RESET");
}
