/* The config: what is accepted, what is refused and with which sentence, and that printing reads back. */
#include "edge/settings/settings.h"

#include "tests/lib/tap.h"

#include <sodium.h>
#include <stdlib.h>
#include <sysexits.h>
#include <unistd.h>

#define LIMITS "limits:\n- {name: d, capacity: 100, rate: 100/s}\n"
#define REGIONS "region: x\nregions:\n- {name: x, weight: 0.5}\n- {name: y, weight: .5}\n"
#define PEER "peers:\n- {node: b, region: y, gossip: 127.0.0.1:7171}\n"
#define LEAST "node: a\n" LIMITS

struct mistake {
    const char *yaml, *sentence;
};

/* The file is called f. */
#define KNOWN_KEYS "config/headgated.yaml, such as node, region, listen, peers or limits"

static const struct mistake mistakes[] = {
    {"", "f:1: the file is empty: expected at least the keys node and limits"},
    {"# nothing\n\n", "f:1: the file is empty: expected at least the keys node and limits"},
    {"{}\n", "f:1: node is missing: expected this node's name"},
    {"just a word\n", "f:1: the file is a single value: expected a mapping of keys to values"},
    {"- node\n", "f:1: the file is a list: expected a mapping of keys to values"},
    {"node: a\n\tregion: x\n", "f:2: a tab is used for indentation: expected spaces"},
    {"node: a\nlisten:\n\tclients: x\n", "f:3: a tab is used for indentation: expected spaces"},
    {"node: 'a\n", "f:2: this is not YAML (found unexpected end of stream, column 1): expected `key: value`"},
    {"node: a\n  b: c: d\n", "f:2: this is not YAML (mapping values are not allowed in this context, column 4): "
                             "expected `key: value`"},
    {"\x7f"
     "ELF\x02\x01\x01\x00",
     "f:1: this is not text (control characters are not allowed at byte 0): expected YAML in UTF-8"},
    {"node: a\nregion: \xff\xfe\n",
     "f:2: this is not text (invalid leading UTF-8 octet at byte 16): expected YAML in UTF-8"},
    {LEAST "---\nnode: b\n", "f:4: a second document (---) begins: expected one"},
    {"node: &a b\nregion: *a\n",
     "f:2: an alias (*) is used: expected the value itself, in quotes if it begins with *"},
    {"[a, b]: c\n", "f:1: a key is itself a list or a map: expected a word"},
    {LEAST "'': 1\n", "f:4: a key is empty: expected a word before the colon"},
    {"a: [[[[[[[[1]]]]]]]]\n", "f:1: this is nested too deep: expected at most 8 levels"},

    {LIMITS, "f:1: node is missing: expected this node's name"},
    {"node: a\n", "f:1: limits is missing: expected at least one limit with name, capacity and rate"},
    {"node: a\nlimits: []\n", "f:2: limits is missing: expected at least one limit with name, capacity and rate"},
    {LEAST "colour: red\n", "f:4: colour is not a known key: expected one of " KNOWN_KEYS},
    {LEAST "listen:\n  client: 127.0.0.1:1\n", "f:5: listen.client is not a known key: did you mean clients?"},
    {"node: a\nlimits:\n- {name: d, capacity: 1,000, rate: 1/s}\n",
     "f:3: limits[0].000 is not a known key: expected numbers between braces without commas, or in quotes"},
    {"node: a\nlimits:\n- name: d\n  burst: 5\n",
     "f:4: limits[0].burst is not a known key: expected one of name, capacity, rate, overshoot, patience, default"},
    {LEAST "node: b\n", "f:4: node is given twice, first in line 1: expected it once"},
    {"node: a\nlisten: {gossip: 'h:1',\n  clients: 'h:2', gossip: 'h:3'}\n" LIMITS,
     "f:3: listen.gossip is given twice, first in line 2: expected it once"},
    {"node: a\nlimits:\n- {name: d, capacity: 1, rate: 1/s}\n- name: e\n  rate: 1/s\n  rate: 1/s\n",
     "f:6: limits[1].rate is given twice, first in line 5: expected it once"},
    {LEAST "region: by_key\n",
     "f:4: region is 'by_key': expected another name, as home: by_key of rules means the home of each key"},
    {LEAST "region: none\n", "f:4: region is 'none': expected another name, as home: none of rules means no home"},
    {LEAST "listen.clients: 'h:1'\n", "f:4: listen.clients is not a known key: expected clients within listen"},
    {LEAST "listen: {'clients.x': 1}\n", "f:4: listen.clients.x is not a known key: did you mean clients?"},
    {LEAST "listen: {\"cli\\nents\": 1}\n", "f:4: listen.cli?ents is not a known key: did you mean clients?"},
    {"node: a\r\nlimits:\r\n- {name: d, capacity: 100, rate: 100/s}\r\nthreads: 0\r\n",
     "f:4: threads is '0': expected a whole number from 1 to 64"},
    {LEAST "secret: \"a\\0b\"\n", "f:4: secret has a character that cannot be printed: expected plain text"},
    {LEAST "limits:\n", "f:4: limits is given twice, first in line 2: expected it once"},
    {"node: a\nlimits:\n-\n", "f:3: limits[0] is a single value: expected a mapping of keys to values"},
    {LEAST "peers:\n", "f:4: peers is a single value: expected a list, each entry after a dash"},
    {LEAST "listen:\n", "f:4: listen is a single value: expected a mapping of keys to values"},
    {LEAST "interval: [1, 2]\n", "f:4: interval is a list: expected a single value"},
    {LEAST "interval: {a: b}\n", "f:4: interval is a mapping: expected a single value"},
    {LEAST "listen: 7070\n", "f:4: listen is a single value: expected a mapping of keys to values"},
    {LEAST "table: [1]\n", "f:4: table is a list: expected a mapping of keys to values"},
    {"node: a\nlimits: 100/s\n", "f:2: limits is a single value: expected a list, each entry after a dash"},
    {"node: a\nlimits: {name: d}\n", "f:2: limits is a mapping: expected a list, each entry after a dash"},
    {"node: a\nlimits:\n- d\n", "f:3: limits[0] is a single value: expected a mapping of keys to values"},
    {"node: a\nlimits:\n- name: [d]\n", "f:3: limits[0].name is a list: expected a single value"},

    {"node: ''\n" LIMITS, "f:1: node is '': expected this node's name: 1 to 63 letters, digits, dots, dashes or "
                          "underscores"},
    {"node: a b\n" LIMITS,
     "f:1: node is 'a b': expected this node's name: 1 to 63 letters, digits, dots, dashes or "
     "underscores"},
    {"node: \"a\\nb\"\n" LIMITS, "f:1: node is 'a?b': expected this node's name: 1 to 63 letters, digits, dots, "
                                 "dashes or underscores"},
    {LEAST "interval: 100\n", "f:4: interval is '100': expected a duration from 1 ms to 1 m, such as 100ms or 2s"},
    {LEAST "interval:\n", "f:4: interval is '': expected a duration from 1 ms to 1 m, such as 100ms or 2s"},
    {LEAST "interval: 2h\n", "f:4: interval is '2h': expected a duration from 1 ms to 1 m, such as 100ms or 2s"},
    {LEAST "interval: -1s\n", "f:4: interval is '-1s': expected a duration from 1 ms to 1 m, such as 100ms or 2s"},
    {LEAST "silent_after: 150ms\n",
     "f:4: silent_after is '150ms': expected a duration from 200 ms to 1 d, such as 2s or 5m"},
    {LEAST "forget_after: never\n", "f:4: forget_after is 'never': expected off, or a duration such as 1h"},
    {LEAST "forget_after: 10ms\n",
     "f:4: forget_after is '10ms': expected a duration from 1 s to 366 d, such as 2s or 5m"},
    {LEAST "rules: {services: 5000}\n", "f:4: rules.services is '5000': expected a whole number from 1 to 4,094"},
    {LEAST "rules: {service_rules: 10001}\n",
     "f:4: rules.service_rules is '10001': expected a whole number from 1 to 10,000"},
    {LEAST "rules: {keys: 5}\n", "f:4: rules.keys is not a known key: expected one of services, rules, "
                                 "service_rules, service_keys, service_reservations"},
    {LEAST "rules: [a]\n", "f:4: rules is a list: expected a mapping of keys to values"},
    {LEAST "unknown_service: allow\n", "f:4: unknown_service is 'allow': expected error or open"},
    {LEAST "reservations: -1\n", "f:4: reservations is '-1': expected a whole number from 0 to 16,777,216"},
    {LEAST "reservation_ttl_max: 2d\n",
     "f:4: reservation_ttl_max is '2d': expected a duration from 1 s to 1 d, such as 2s or 5m"},
    {LEAST "reservations: 0\nreservation_ttl_max: 1h\n",
     "f:5: reservation_ttl_max is '1h': expected no such key, as there are no reservations"},
    {LEAST "reservations: 9\nrules: {service_reservations: 10}\n",
     "f:5: rules.service_reservations is '10': expected a whole number from 1 to 9"},
    {LEAST "reservations: 9\naddress_reservations: 10\n",
     "f:5: address_reservations is '10': expected a whole number from 1 to 9"},
    {LEAST "reservations: 0\naddress_reservations: 1\n",
     "f:5: address_reservations is '1': expected no such key, as there are no reservations"},
    {LEAST "reservations: 0\nrules: {service_reservations: 1}\n",
     "f:5: rules.service_reservations is '1': expected no such key, as there are no reservations"},
    {LEAST "unlisted_peers: 64\n", "f:4: unlisted_peers is '64': expected a whole number from 0 to 63"},
    {LEAST "signatures: required\n", "f:4: signatures is 'required': expected pinned, or peers_tls, as without it "
                                     "whoever has the secret can repeat what "
                                     "others have signed"},
    {LEAST "state_dir: off\n", "f:4: state_dir is 'off': expected a directory, none, or no such key"},
    {LEAST "refusal_log: none\n", "f:4: refusal_log is 'none': expected a file, or no such key"},
    {LEAST "refusal_log: false\n", "f:4: refusal_log is 'false': expected a file, or no such key"},
    {LEAST "state_dir: ''\n", "f:4: state_dir is '': expected a directory, none, or no such key"},
    {LEAST "state_sync: often\n", "f:4: state_sync is 'often': expected normal or full"},
    {LEAST "table:\n  keys: many\n", "f:5: table.keys is 'many': expected a whole number from 1 to 68,719,476,736"},
    {LEAST "table: {keys: 0}\n", "f:4: table.keys is '0': expected a whole number from 1 to 68,719,476,736"},
    {LEAST "message_max: 1\n",
     "f:4: message_max is '1': expected a size from 64 KiB to 64 MiB, such as 64KiB or 1MiB"},
    {LEAST "message_max: 1 parsec\n", "f:4: message_max is '1 parsec': expected "
                                      "a size from 64 KiB to 64 MiB, such as 64KiB or 1MiB"},
    {LEAST "unlisted_peers: 63\nmessage_max: 256KiB\n",
     "f:5: message_max is '256KiB': expected at least 536KiB for 64 daemons (peers, unlisted_peers and this one)"},
    {LEAST "secret: a\nmessage_max: 64KiB\n",
     "f:5: message_max is '64KiB': expected at least 151KiB for 9 daemons (peers, unlisted_peers and this one)"},
    {LEAST "max_connections: 0\n", "f:4: max_connections is '0': expected a whole number from 1 to 1,000,000"},
    {LEAST "clients: {auth_timeout: 5s}\n",
     "f:4: clients.auth_timeout is '5s': expected no such key, as there is no password to wait for"},
    {LEAST "clients: {request_timeout: 0s}\n",
     "f:4: clients.request_timeout is '0s': expected a duration from 1 s to 1 d, "
     "such as 2s or 5m"},
    {LEAST "clients:\n  idle_timeout: never\n",
     "f:5: clients.idle_timeout is 'never': expected off, or a duration such "
     "as 1h"},
    {LEAST "clients: 10s\n", "f:4: clients is a single value: expected a mapping of keys to values"},
    {LEAST "clients: {timeout: 1s}\n", "f:4: clients.timeout is not a known key: expected one of request_timeout, "
                                       "auth_timeout, idle_timeout"},
    {LEAST "tls: {key: k}\n", "f:4: tls has no effect without a port that speaks it: expected listen.clients_tls, "
                              "listen.http_tls or listen.grpc_tls"},
    {LEAST "listen: {http_tls: '*:9'}\ntls: {key: k}\n",
     "f:5: tls.certificate is missing: expected the path of the daemon's certificate, for a port of TLS"},
    {LEAST "listen: {clients_tls: '*:9'}\ntls: {certificate: c}\n",
     "f:5: tls.key is missing: expected the path of the certificate's key"},
    {LEAST "listen: {clients_tls: '*:9'}\ntls: {certificate: '', key: k}\n",
     "f:5: tls.certificate is '': expected the path of a file in PEM"},
    {LEAST "listen: {http: '*:9', http_tls: '*:9'}\n",
     "f:4: listen.http_tls has port 9: expected another one than listen.http"},
    {LEAST "listen: {clients_tls: '*:7070'}\n",
     "f:4: listen.clients_tls has port 7070: expected another one than listen.clients"},
    {LEAST "users: [{roles: check, secret: s}]\n", "f:4: users[0].name is missing: expected the user's name"},
    {LEAST "users: [{name: a, secret: s}]\n",
     "f:4: users[0].roles is missing: expected some of check, read, rules and admin"},
    {LEAST "users: [{name: a, roles: 'check, all', secret: s}]\n",
     "f:4: users[0].roles is 'check, all': expected some of check, read, rules and admin"},
    {LEAST "users: [{name: a, roles: ',', secret: s}]\n",
     "f:4: users[0].roles is ',': expected some of check, read, rules and admin"},
    {LEAST "users: [{name: a, roles: check}]\n",
     "f:4: users has 0 of secret, secret_file, secret_env and password_hash for 'a': expected one of them"},
    {LEAST "users: [{name: a, roles: check, secret: s, secret_env: E}]\n",
     "f:4: users has 2 of secret, secret_file, secret_env and password_hash for 'a': expected one of them"},
    {LEAST "users:\n- {name: a, roles: check, secret: s}\n- {name: a, roles: read, secret: t}\n",
     "f:6: users[1].name is 'a': expected a name that users[0] does not have already"},
    {LEAST "password: p\nusers: [{name: default, roles: check, secret: s}]\n",
     "f:5: users[0].name is 'default': expected another name, or no password: the password is that of the user "
     "default"},
    {LEAST "users: [{name: a, roles: 'check, read', services: shop, secret: s}]\n",
     "f:4: users[0].services is 'shop': expected no such key, as roles other than check are for all services"},
    {LEAST "users: [{name: a, roles: check, services: ' , ', secret: s}]\n",
     "f:4: users[0].services is ' , ': expected names of services such as shop, mail, or no such key for all of "
     "them"},
    {LEAST "users: [{name: a, roles: check, secret: (given)}]\n",
     "f:4: users[0].secret is '(given)': expected the value itself: headgated prints it with --show-secrets"},
    {LEAST "password: (given)\n",
     "f:4: password is '(given)': expected the value itself: headgated prints it with --show-secrets"},
    {LEAST "threads: 0\n", "f:4: threads is '0': expected a whole number from 1 to 64"},
    {LEAST "threads: many\n", "f:4: threads is 'many': expected a whole number from 1 to 64"},
    {LEAST "debug: maybe\n", "f:4: debug is 'maybe': expected true or false"},
    {LEAST "log_level: loud\n", "f:4: log_level is 'loud': expected error, warning, info or debug"},
    {LEAST "secret: ''\n", "f:4: secret is '': expected at least one character, or no such key"},

    {"node: a\nlimits:\n- {name: d, rate: 1/s}\n",
     "f:3: limits[0].capacity is missing: expected a number of tokens"},
    {"node: a\nlimits:\n- {name: d, capacity: 1}\n",
     "f:3: limits[0].rate is missing: expected tokens per time such as 100/s or 6000/m"},
    {"node: a\nlimits:\n- {capacity: 1, rate: 1/s}\n",
     "f:3: limits[0].name is missing: expected a name for the limit"},
    {"node: a\nlimits:\n- name: d\n  capacity: 0\n  rate: 1/s\n",
     "f:4: limits[0].capacity is '0': expected a whole number from 1 to 1,000,000,000,000"},
    {"node: a\nlimits:\n- name: d\n  capacity: 1.5\n  rate: 1/s\n",
     "f:4: limits[0].capacity is '1.5': expected a whole number from 1 to 1,000,000,000,000"},
    {"node: a\nlimits:\n- name: d\n  capacity: 5\n  rate: 100\n",
     "f:5: limits[0].rate is '100': expected tokens per time such as 100/s, 6000/m or 5/10s"},
    {"node: a\nlimits:\n- name: d\n  capacity: 5\n  rate: 0/s\n",
     "f:3: limits[0] 'd': rate is 0: expected 1 to 1000000000000 tokens per period"},
    {"node: a\nlimits:\n- name: d\n  capacity: 5\n  rate: 1/s\n  overshoot: lots\n",
     "f:6: limits[0].overshoot is 'lots': expected a part of the capacity from 0% to 1000%, or tokens from 0 to "
     "1000000000000"},
    {"node: a\nlimits:\n- name: d\n  capacity: 5\n  rate: 1/s\n  overshoot: 100000%\n",
     "f:6: limits[0].overshoot is '100000%': expected a part of the capacity from 0% to 1000%, or tokens from 0 to "
     "1000000000000"},
    {"node: a\nlimits:\n- name: d\n  capacity: 5\n  rate: 1/s\n  overshoot: 1000.1%\n",
     "f:6: limits[0].overshoot is '1000.1%': expected a part of the capacity from 0% to 1000%, or tokens from 0 to "
     "1000000000000"},
    {"node: a\n" REGIONS PEER "secret: none\nlimits:\n- {name: d, capacity: 100, rate: 1/s}\n"
     "- {name: few, capacity: 1, rate: 1/h, overshoot: 0, default: true}\n",
     "f:11: limits[1] 'few': a request of cost 1 is ever admitted at none of 2 daemons, since each uses its share "
     "of the "
     "limit: expected overshoot: 1, or a capacity or burst of 2"},
    {LEAST "- {name: d, capacity: 1, rate: 1/s}\n",
     "f:4: limits[1].name is 'd': expected a name that limits[0] does not have already"},
    {LEAST "- {name: e, capacity: 1, rate: 1/s}\n",
     "f:2: limits has no default: expected `default: true` at one of the 2 limits"},
    {"node: a\nlimits:\n- {name: d, capacity: 1, rate: 1/s, default: true}\n"
     "- {name: e, capacity: 1, rate: 1/s, default: true}\n",
     "f:4: limits[1].default is 'true': expected one default, and limits[0] is it already"},
    {"node: a\nlimits:\n- {name: d, capacity: 1, rate: 1/s, default: yes}\n",
     "f:3: limits[0].default is 'yes': expected true or false"},

    {LEAST "region: x\nregions:\n- {name: x, weight: 0.5}\n- {name: y, weight: 0.499}\n",
     "f:5: regions have weights that sum to 0.999000000: expected exactly 1"},
    {LEAST "region: x\nregions:\n- {name: x, weight: 0.6}\n- {name: y, weight: 0.6}\n",
     "f:5: regions have weights that sum to 1.200000000: expected exactly 1"},
    {LEAST "region: x\nregions:\n- {name: x, weight: 1.5}\n",
     "f:6: regions[0].weight is '1.5': expected a decimal above 0 and at most 1, with at most 9 digits after the "
     "point"},
    {LEAST "region: x\nregions:\n- {name: x, weight: 50%}\n",
     "f:6: regions[0].weight is '50%': expected a decimal above 0 and at most 1, with at most 9 digits after the "
     "point"},
    {LEAST "region: x\nregions:\n- {name: x, weight: 0.3333333333}\n",
     "f:6: regions[0].weight is '0.3333333333': expected a decimal above 0 and at most 1, with at most 9 digits "
     "after the point"},
    {LEAST "region: x\nregions:\n- {name: x}\n",
     "f:6: regions[0].weight is missing: expected a decimal above 0 and at most 1, with at most 9 digits after the "
     "point"},
    {LEAST "region: x\nregions:\n- {name: x, weight: 0.5}\n- {name: x, weight: 0.5}\n",
     "f:7: regions[1].name is 'x': expected a region that is not in the list already"},
    {LEAST "region: z\nregions:\n- {name: x, weight: 1}\n",
     "f:4: region is 'z': expected a region that has a weight in regions"},
    {LEAST "regions:\n- {name: x, weight: 1}\n", "f:1: region is missing: expected this node's region"},
    {LEAST "region: x\n" PEER,
     "f:1: regions is missing: expected each region's name and weight, as there are peers"},

    {LEAST REGIONS "peers:\n- {node: b, region: q, gossip: h:1}\n",
     "f:9: peers[0].region is 'q': expected a region that has a weight in regions"},
    {LEAST REGIONS "peers:\n- {node: a, region: y, gossip: h:1}\n",
     "f:9: peers[0].node is 'a': expected another name than this node's own"},
    {LEAST REGIONS PEER "- {node: b, region: y, gossip: h:1}\n",
     "f:10: peers[1].node is 'b': expected a name that peers[0] does not have already"},
    {LEAST REGIONS PEER "- {node: c, region: y, gossip: 127.0.0.1:7171}\n",
     "f:10: peers[1].gossip is '127.0.0.1:7171': expected an address that b does not have already"},
    {LEAST REGIONS PEER "- {node: c, region: y, gossip: h:1, snapshots: 127.0.0.1:7172}\n",
     "f:10: peers[1].snapshots is '127.0.0.1:7172': expected an address that b does not have already"},
    {LEAST REGIONS "peers:\n- {node: b, region: y, gossip: 127.0.0.1:7071}\n",
     "f:9: peers[0].gossip is '127.0.0.1:7071': expected an address that a does not have already"},
    {LEAST REGIONS "peers:\n- {node: b, region: y}\n",
     "f:9: peers[0].gossip is missing: expected host:port where the peer publishes"},
    {LEAST REGIONS "peers:\n- {region: y, gossip: h:1}\n",
     "f:9: peers[0].node is missing: expected the peer's name"},
    {LEAST REGIONS "peers:\n- {node: b, region: y, gossip: '*:1'}\n",
     "f:9: peers[0].gossip is '*:1': expected an address that can be connected to"},
    {LEAST REGIONS "peers:\n- {node: b, region: y, gossip: h:9, snapshots: h:9}\n",
     "f:9: peers[0].snapshots is 'h:9': expected another address than the peer's gossip"},
    {LEAST REGIONS "peers:\n- {node: b, region: y, gossip: h:65535}\n",
     "f:9: peers[0].gossip is 'h:65535': expected a port below 65535, as snapshots use the next one"},

    {LEAST REGIONS PEER, "f:8: peers are named, but secret is missing: expected a long random text, the same at "
                         "all peers, or none where "
                         "no stranger can reach their ports"},
    {LEAST REGIONS PEER "secret: ''\n", "f:10: secret is '': expected at least one character, or no such key"},

    {LEAST "listen: {clients: localhost}\n",
     "f:4: listen.clients is 'localhost': expected host:port with a port from 1 to 65535"},
    {LEAST "listen: {clients: 'localhost:0'}\n",
     "f:4: listen.clients is 'localhost:0': expected host:port with a port from 1 to 65535"},
    {LEAST "listen: {clients: 'localhost:65536'}\n",
     "f:4: listen.clients is 'localhost:65536': expected host:port with a port from 1 to 65535"},
    {LEAST "listen: {clients: ':7070'}\n",
     "f:4: listen.clients is ':7070': expected host:port with a port from 1 to 65535"},
    {LEAST "listen: {clients: 'a b:7070'}\n",
     "f:4: listen.clients is 'a b:7070': expected host:port with a port from 1 to 65535"},
    {LEAST "listen:\n  clients: 127.0.0.1:7071\n  gossip: 127.0.0.1:7071\n",
     "f:6: listen.gossip has port 7071: expected another one than listen.clients"},
    {LEAST "listen:\n  clients: 127.0.0.1:7072\n  gossip: 127.0.0.1:7071\n",
     "f:6: listen.snapshots has port 7072 (by default listen.gossip's next): expected another one than "
     "listen.clients"},
    {LEAST "listen:\n  gossip: 127.0.0.1:7071\n  snapshots: 127.0.0.1:7071\n",
     "f:6: listen.snapshots has port 7071: expected another one than listen.gossip"},
    {LEAST "listen:\n  gossip: '*:7071'\n",
     "f:5: listen.gossip is '*:7071': expected a host that peers can reach, or advertise to name one"},
    {LEAST "advertise: 10.0.0.1:5\n",
     "f:4: advertise is '10.0.0.1:5': expected a host without a port, as peers reach this node"},
};

static bool parse(struct settings *settings, const char *yaml, struct error *error)
{
    memset(error, 0, sizeof *error);
    return settings_parse(settings, bytes_of(yaml), "f", error);
}

static void refuses_mistakes(void)
{
    static struct settings settings;
    struct error error;
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        if (parse(&settings, mistakes[i].yaml, &error)) {
            OK(false, "refused: %s", mistakes[i].sentence);
            continue;
        }
        OK_STRING(error.text, mistakes[i].sentence, "%s", mistakes[i].sentence);
        if (error.exit_status != EX_CONFIG)
            OK(false, "exit status %d", error.exit_status);
    }
}

static void too_many(void)
{
    static struct settings settings;
    static char yaml[200000];
    struct error error;
    size_t size = (size_t)snprintf(yaml, sizeof yaml, "node: a\nlimits:\n");
    for (int i = 0; i < NAMED_LIMITS_MAX + 1; i++)
        size += (size_t)snprintf(yaml + size, sizeof yaml - size, "- {name: d%d, capacity: 1, rate: 1/s}\n", i);
    OK(!parse(&settings, yaml, &error), "65 limits");
    OK_STRING(error.text, "f:67: limits has too many entries: expected at most 64", "the sentence");

    size = (size_t)snprintf(yaml, sizeof yaml, "%s", LEAST REGIONS "peers:\n");
    for (int i = 0; i < NODE_PEERS_MAX; i++)
        size +=
            (size_t)snprintf(yaml + size, sizeof yaml - size, "- {node: p%d, region: y, gossip: 'h%d:1'}\n", i, i);
    OK(!parse(&settings, yaml, &error), "64 peers");
    OK_STRING(error.text, "f:72: peers has too many entries: expected at most 63", "the sentence");

    size = (size_t)snprintf(yaml, sizeof yaml, "node: a\nsecret: ");
    memset(yaml + size, 'x', 300);
    (void)snprintf(yaml + size + 300, sizeof yaml - size - 300, "\n" LIMITS);
    OK(!parse(&settings, yaml, &error), "a value of 300 bytes");
    OK_STRING(error.text, "f:2: secret is too long: expected at most 256 bytes", "the sentence");

    memset(yaml, '[', 5000);
    yaml[5000] = '\0';
    OK(!parse(&settings, yaml, &error), "5,000 brackets: %s", error.text);
    for (size = 0; size < 150000;)
        size += (size_t)snprintf(yaml + size, sizeof yaml - size, "k%zu: v\n", size);
    OK(!parse(&settings, yaml, &error), "20,000 keys");
    OK_STRING(error.text, "f:65: a map has too many keys: expected at most 64", "the sentence");
    for (size = 0; size < 150000;)
        size += (size_t)snprintf(yaml + size, sizeof yaml - size, "- v\n");
    OK(!parse(&settings, yaml, &error), "40,000 values");
    OK_STRING(error.text, "f:4096: there are too many keys and values: expected at most 4,096", "the sentence");
}

static void colliding_ids(void)
{
    /* Two names with the same 32-bit hash, found by trying. */
    static struct settings settings;
    struct error error;
    OK(!parse(&settings,
              "node: a\nlimits:\n- {name: costarring, capacity: 1, rate: 1/s, default: true}\n"
              "- {name: liquid, capacity: 1, rate: 1/s}\n",
              &error),
       "names whose hashes collide");
    OK_STRING(
        error.text,
        "f:4: limits[1].name 'liquid' and limits[0].name 'costarring' have the same hash: expected one of them "
        "to be renamed",
        "the sentence");
}

static const char full[] =
    "node: us-east\nregion: us-east\n"
    "listen:\n  clients: \"*:7070\"\n  gossip: 0.0.0.0:7071\n  snapshots: 0.0.0.0:9999\n"
    "advertise: us.example.com\n"
    "regions:\n- {name: us-east, weight: 0.34}\n- {name: eu-west, weight: 0.33}\n- {name: ap-south, weight: 0.33}\n"
    "peers:\n- {node: eu-west, region: eu-west, gossip: 10.0.0.2:7071}\n"
    "- {node: ap-south, region: ap-south, gossip: '[fd00::1]:7071', snapshots: '[fd00::1]:8000'}\n"
    "limits:\n- {name: default, capacity: 1_000, rate: 6000/m, overshoot: 20%, default: true}\n"
    "- {name: strict, capacity: 7, rate: 5/10s, overshoot: 0, patience: 50ms}\n"
    "- {name: burst, capacity: 100, rate: 1/1.5h}\n"
    "interval: 50ms\nsilent_after: 3s\njoin_timeout: 0\nleave_timeout: 1.5s\nforget_after: 1h\n"
    "table:\n  keys: 4096\ngossip_pace: 2000\nlog_keys: 1,000\nmessage_max: 256KiB\nmax_connections: 77\n"
    "clients: {request_timeout: 3s, auth_timeout: 4s, idle_timeout: 1h}\nthreads: "
    "3\n"
    "secret: \"it's: a #secret\"\npassword: '12345'\nlog_level: warning\ndebug: true\n"
    "state_dir: /srv/headgate\nstate_sync: full\nreservations: 0\nunlisted_peers: 3\n"
    "unknown_service: open\ngrants: false\n"
    "rules: {services: 7, rules: 70, service_rules: 60, service_keys: 1000}\n";

static void accepts(void)
{
    static struct settings settings;
    struct error error;
    OK(parse(&settings, LEAST, &error), "the least config: %s", error.text);
    OK_STRING(settings.clients_address, "127.0.0.1:7070", "clients, by default");
    OK_STRING(settings.node.gossip_address, "127.0.0.1:7071", "gossip, by default");
    OK_STRING(settings.node.snapshot_address, "127.0.0.1:7072", "snapshots, by default");
    OK_U64(settings.node.interval_ns, 100000000, "interval, by default");
    OK_U64(settings.node.silent_after_ns, 1000000000, "silent_after, by default");
    OK_U64(settings.limits.limit[0].terms.overshoot, 100, "overshoot is 100%%, by default");
    OK_U64(settings.node.regions[0].weight, SHARE_ONE, "a lone region has everything");
    OK(settings.threads >= 1 && settings.threads <= SETTINGS_THREADS_MAX, "a thread for each processor");
    OK(settings.node.limits == &settings.limits && settings.limits.by_default == 0,
       "the only limit is the default");

    OK(!settings.node.unknown_service_open && settings.node.grants, "an unknown service is an error; peers grant");
    OK(settings.secret.text[0] == '\0' && !settings.secret_is_none, "alone, it needs no secret");
    OK_U64(settings.node.unlisted_max, 0, "nor takes strangers in");
    OK(parse(&settings, LEAST "secret: s\n", &error) && settings.node.unlisted_max == 8,
       "with a secret, peers that the config does not name may come");

    OK(parse(&settings, LEAST REGIONS PEER "secret: none\n", &error) && settings.secret.text[0] == '\0' &&
           settings.secret_is_none,
       "peers without a secret, if the config says so: %s", error.text);

    OK(parse(&settings,
             "node: a\nregion: x\nregions: [{name: x, weight: 0.9}, {name: y, weight: 0.1}]\n" PEER
             "secret: none\ngrants: false\nlimits: [{name: d, capacity: 2, rate: 1/h}]\n",
             &error),
       "without grants, a limit that admits nothing in a small region: %s", error.text);
    OK_STRING(
        settings.warning,
        "limits[0] 'd': a request of cost 1 is ever admitted at 1 of 2 daemons only, since each uses its share of "
        "the limit: expected overshoot: 9, or a capacity or burst of 9",
        "... is told");
    OK(parse(&settings, "node: a\nlimits: [{name: d, capacity: 1, rate: 1/h, overshoot: 0}]\n", &error) &&
           settings.warning[0] == '\0',
       "a node alone admits whatever is there");

    OK(parse(&settings, full, &error), "everything: %s", error.text);
    OK(!settings.secret_is_none, "a secret");
    OK_STRING(settings.clients_address, "*:7070", "clients");
    OK_STRING(settings.gossip_address, "0.0.0.0:7071", "gossip listens");
    OK_STRING(settings.node.gossip_address, "us.example.com:7071", "gossip is advertised");
    OK_STRING(settings.node.snapshot_address, "us.example.com:9999", "snapshots are advertised");
    OK_STRING(settings.node.peers[0].snapshot_address, "10.0.0.2:7072", "a peer's snapshots: the next port");
    OK_STRING(settings.node.peers[1].gossip_address, "[fd00::1]:7071", "a v6 address");
    uint64_t sum = 0;
    for (int i = 0; i < 3; i++)
        sum += settings.node.regions[i].weight;
    OK(sum <= SHARE_ONE && sum >= SHARE_ONE - 3, "weights, rounded down, never exceed the whole");
    OK_U64(settings.limits.limit[0].terms.overshoot, 200, "20%% of 1,000");
    OK_U64(settings.limits.limit[1].terms.overshoot, 0, "0");
    OK_U64(settings.limits.limit[0].terms.capacity, 1000, "capacity");
    OK_U64(settings.limits.limit[1].terms.period_ns, 10000000000, "5/10s");
    OK_U64(settings.node.leave_timeout_ns, 1500000000, "1.5s");
    OK_U64(settings.node.forget_after_ns, 3600000000000, "1h");
    OK_STRING(settings.secret.text, "it's: a #secret", "a quoted secret");
    OK_STRING(settings.password.text, "12345", "a password of digits");
    OK(settings.log_level == LOG_LEVEL_WARNING && settings.debug, "log level and debug");
    OK(settings.node.rules.services_max == 7 && settings.node.rules.rules_max == 70 &&
           settings.node.rules.service_rules_max == 60 && settings.service_keys_max == 1000 &&
           settings.node.reservations_max == 0 && settings.node.unlisted_max == 3,
       "what a service may have");
    OK(!settings.node.grants, "peers grant nothing");
    OK(settings.node.unknown_service_open, "services without rules are open");
    OK(settings.max_connections == 77 && settings.threads == 3, "connections and threads");
    OK(settings.request_timeout_ns == 3000000000u && settings.auth_timeout_ns == 4000000000u &&
           settings.idle_timeout_ns == 3600000000000u,
       "deadlines of clients");
    OK(strcmp(settings.state_dir, "/srv/headgate") == 0 && settings.state_sync == STORE_SYNC_FULL, "the store");
}

static void accepts_what_editors_write(void)
{
    static struct settings settings;
    struct error error;
    OK(parse(&settings,
             "\xef\xbb\xbfnode: &n a\r\nlimits: !!seq\r\n- {name: d, capacity: 100, rate: 100/s}\r\n...\r\n",
             &error),
       "lines of Windows, a byte order mark, a tag, an anchor that nobody uses: %s", error.text);
}

static void accepts_reservations(void)
{
    static struct settings settings;
    struct error error;
    OK(parse(&settings, LEAST "reservations: 40\nreservation_ttl_max: 10m\n", &error) &&
           settings.node.reservations_max == 40 && settings.node.service_reservations_max == 30 &&
           settings.node.address_reservations_max == 15 && settings.reservation_ttl_max_ns == 600000000000u,
       "one service may have three quarters of all reservations, one address half of that");
}

/* Printing, reading, printing gives the same text and the same settings. */
static void prints(const char *yaml, const char *name)
{
    static struct settings first, second;
    struct error error;
    char *once = NULL, *twice = NULL;
    size_t once_size, twice_size;
    FILE *out = open_memstream(&once, &once_size);
    OK(parse(&first, yaml, &error) && settings_print(&first, out) && fclose(out) == 0, "%s: prints", name);
    OK(parse(&second, once, &error), "reads back: %s", error.text);
    out = open_memstream(&twice, &twice_size);
    OK(settings_print(&second, out) && fclose(out) == 0, "prints again");
    OK_STRING(twice, once, "to the same text");
    first.node.limits = second.node.limits = NULL;
    /* where a weight or a key stands means nothing */
    memcpy(second.region_line, first.region_line, sizeof first.region_line);
    memcpy(second.key_line, first.key_line, sizeof first.key_line);
    OK(memcmp(&first, &second, sizeof first) == 0, "and it means the same");
    free(once);
    free(twice);
}

static uint64_t digest_of(const char *yaml)
{
    static struct settings settings;
    struct error error;
    return parse(&settings, yaml, &error) ? settings.node.config_digest : 0;
}

static void digests(void)
{
    uint64_t digest = digest_of(LEAST REGIONS);
    OK(digest != 0, "a digest");
    OK_U64(digest_of("node: b\n" LIMITS
                     "region: y\nregions:\n- {name: y, weight: 0.50}\n- {name: x, weight: 0.5}\n"),
           digest, "another node, regions in another order: the same");
    OK_U64(digest_of("node: a\nlimits:\n- {name: d, capacity: 100, rate: 6000/m, overshoot: 100%}\n" REGIONS),
           digest, "6000/m is 100/s: the same");
    OK(digest_of(LEAST REGIONS "interval: 99ms\n") != digest, "another interval");
    OK(digest_of(LEAST REGIONS "secret: s\n") != digest, "another secret");
    OK(digest_of(LEAST "region: x\nregions:\n- {name: x, weight: 0.4}\n- {name: y, weight: 0.6}\n") != digest,
       "other weights");
    OK(digest_of("node: a\nlimits:\n- {name: d, capacity: 101, rate: 100/s}\n" REGIONS) != digest,
       "another capacity");
    OK(digest_of("node: a\nlimits:\n- {name: d, capacity: 100, rate: 101/s}\n" REGIONS) != digest, "another rate");
    OK(digest_of("node: a\nlimits:\n- {name: d, capacity: 100, rate: 100/s, overshoot: 0}\n" REGIONS) != digest,
       "another overshoot");
    OK(digest_of("node: a\nlimits:\n- {name: e, capacity: 100, rate: 100/s}\n" REGIONS) != digest, "another name");
}

static void files(void)
{
    static struct settings settings;
    struct error error;
    OK(!settings_read(&settings, "/nonexistent/f.yaml", &error) && error.exit_status == EX_NOINPUT, "no file");
    OK_STRING(error.text, "/nonexistent/f.yaml cannot be read: No such file or directory", "the sentence");
    OK(!settings_read(&settings, "/", &error) && error.exit_status == EX_NOINPUT, "a directory");
    OK_STRING(error.text, "/ is a directory: expected a config file", "the sentence");
    OK(!settings_read(&settings, "/dev/zero", &error) && error.exit_status == EX_CONFIG, "endless zeros");
    OK_STRING(error.text, "/dev/zero is larger than 1 MiB: expected a config file", "the sentence");
    char path[] = "/tmp/headgate-settings-XXXXXX";
    int fd = mkstemp(path);
    OK(fd >= 0 && write(fd, LEAST, sizeof LEAST - 1) == (ssize_t)sizeof LEAST - 1 && close(fd) == 0, "a real file");
    OK(settings_read(&settings, path, &error), "is read");
    (void)unlink(path);
}

/* Whatever the bytes are: a sentence or settings, never a crash. */
static void survives_damage(void)
{
    static struct settings settings;
    static char text[sizeof full];
    struct error error;
    unsigned refused = 0, rounds = 3000;
    srand(1);
    for (unsigned i = 0; i < rounds; i++) {
        memcpy(text, full, sizeof full);
        for (int j = rand() % 4; j >= 0; j--)
            text[(size_t)rand() % (sizeof full - 1)] = (char)rand();
        size_t size = rand() % 4 == 0 ? (size_t)rand() % sizeof full : sizeof full - 1;
        bool read = settings_parse(&settings, (struct bytes){text, size}, "f", &error);
        refused += !read;
        if (!read && (strncmp(error.text, "f:", 2) != 0 || error.exit_status != EX_CONFIG))
            OK(false, "an odd sentence: %s", error.text);
    }
    OK(refused > rounds / 2 && refused < rounds, "damaged configs: %u of %u refused", refused, rounds);
}

int main(void)
{
    if (sodium_init() < 0)
        return 1;
    refuses_mistakes();
    too_many();
    colliding_ids();
    accepts();
    accepts_what_editors_write();
    accepts_reservations();
    prints(LEAST, "the least config");
    prints(LEAST REGIONS PEER "secret: none\n", "no secret");
    prints(full, "everything");
    digests();
    files();
    survives_damage();
    return tap_done();
}
