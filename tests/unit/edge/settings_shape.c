/*
 * Keys that a config does not know, and values of another shape: the sentence says what may be meant.
 */
#include "edge/settings/settings_shape.h"

#include "edge/settings/settings.h"
#include "tests/lib/tap.h"

#include <sodium.h>
#include <stdio.h>
#include <sysexits.h>

#define LEAST "node: a\nlimits:\n- {name: d, capacity: 100, rate: 100/s}\n"

static const struct {
    const char *text, *sentence;
} mistakes[] = {
    {LEAST "listen:\n  redis: 127.0.0.1:1\n",
     "f:5: listen.redis is not a known key: expected one of clients, gossip, snapshots, http, "
     "clients_tls, http_tls, grpc, grpc_tls"},
    {LEAST "LogLevel: info\n", "f:4: LogLevel is not a known key: did you mean log_level?"},
    {LEAST "idle_timeout: 1s\n", "f:4: idle_timeout is not a known key: expected idle_timeout within clients"},
    {LEAST "users: [{name: u, roles: [admin], secret: x}]\n",
     "f:4: users[0].roles is a list: expected one value, roles: admin"},
    {LEAST "users:\n- name: u\n  roles:\n  - check\n  - read\n",
     "f:6: users[0].roles is a list: expected one value, roles: \"check, read\""},
    {LEAST "users:\n- name: u\n  roles: [[check], read]\n",
     "f:6: users[0].roles is a list: expected a single value"},
    {LEAST "users:\n- name: u\n  roles: []\n", "f:6: users[0].roles is a list: expected a single value"},
    {LEAST "users:\n- name: u\n  services: [shop]\n",
     "f:6: users[0].services is a list: expected one value, services: shop"},
    {LEAST "central: {sentinels: ['a:1', 'b:1']}\n",
     "f:4: central.sentinels is a list: expected one value, sentinels: \"a:1, b:1\""},
    {LEAST "http: {request_headers: {ip: X-Real-IP}}\n",
     "f:4: http.request_headers is a mapping: expected a single value"},
    {LEAST "central: {adress: 'a:1'}\n", "f:4: central.adress is not a known key: did you mean address?"},
    {LEAST "users:\n- name: u\n  role: admin\n", "f:6: users[0].role is not a known key: did you mean roles?"},
    {LEAST "users:\n- name: u\n  password: x\n",
     "f:6: users[0].password is not a known key: expected one of name, roles, services, secret, secret_file, "
     "secret_env, password_hash"},
    {LEAST "capacity: 5\n",
     "f:4: capacity is not a known key: expected one of config/headgated.yaml, such as node, "
     "region, listen, peers or limits"},
    {LEAST "password: [swordfish]\n", "f:4: password is a list: expected a single value"},
    {"node: a\nlimits:\n- {name: d, capacity: 1, rate: 1,000/s}\n",
     "f:3: limits[0].000/s is not a known key: expected numbers between braces without commas, or in quotes"},
    {"node: a\nlimits:\n- {name: d, capacity: 1,000,000, rate: 1/s}\n",
     "f:3: limits[0].000 is given twice: expected numbers between braces without commas, or in quotes"},
};

/* What settings_parse says of the text. */
static const char *sentence(const char *text)
{
    static struct settings settings;
    static struct error error;
    return settings_parse(&settings, bytes_of(text), "f", &error) ? "good" : error.text;
}

int main(void)
{
    if (sodium_init() < 0)
        return 1;
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++)
        OK_STRING(sentence(mistakes[i].text), mistakes[i].sentence, "%s", mistakes[i].sentence);
    return tap_done();
}
