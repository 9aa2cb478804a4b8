/*
 * settings_least: the least config that is accepted, and pieces that may stand behind it.
 *
 * The one idea: tests of configs as texts write down what differs from the least one.
 */
#ifndef HEADGATE_TESTS_LIB_SETTINGS_LEAST_H
#define HEADGATE_TESTS_LIB_SETTINGS_LEAST_H

#define LIMITS "limits:\n- {name: d, capacity: 100, rate: 100/s}\n"
#define REGIONS "region: x\nregions:\n- {name: x, weight: 0.5}\n- {name: y, weight: .5}\n"
#define PEER "peers:\n- {node: b, region: y, gossip: 127.0.0.1:7171}\n"
#define LEAST "node: a\n" LIMITS

#endif
