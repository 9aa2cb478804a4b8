/*
 * node_version: the stamp of what is changed at one peer and taken over by all: weights of regions, and limits of the
 * config.
 *
 * The one idea: stamps order all versions, those that were made side by side as well, so of two versions every peer
 * keeps the same one. It does not say what a version is of.
 */
#ifndef HEADGATE_CLUSTER_NODE_VERSION_H
#define HEADGATE_CLUSTER_NODE_VERSION_H

#include <stdint.h>

struct version_stamp {
    uint64_t number; /* larger than any that its maker knew; 0: what the config says */
    uint64_t maker;  /* a hash of the maker's name and incarnation: orders versions that were made side by side */
};

#endif
