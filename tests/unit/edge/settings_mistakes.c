/* The config: what is refused, and with which sentence. */
#include "edge/settings/settings.h"

#include "tests/lib/settings_least.h"
#include "tests/lib/tap.h"

#include <sodium.h>
#include <stdlib.h>
#include <sysexits.h>

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
    {LEAST "secret: ''\n", "f:4: secret is '': expected 1 to 256 bytes, or no such key"},

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
    {LEAST REGIONS PEER "secret: ''\n", "f:10: secret is '': expected 1 to 256 bytes, or no such key"},

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

int main(void)
{
    if (sodium_init() < 0)
        return 1;
    refuses_mistakes();
    too_many();
    colliding_ids();
    return tap_done();
}
