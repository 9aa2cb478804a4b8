/*
 * Keeps one number for each address: when its bucket of wrong passwords will be full again. A set
 * of the table is full when all its places are taken; then the address whose bucket is full first
 * makes room.
 */
#include "commands/guessers.h"

#include "base/network.h"

enum { IPV6_SITE_BITS = 64 }; /* one customer has at least such a prefix */

uint64_t guessers_address(const struct hash_key *key, struct bytes peer)
{
    struct address address = {0};
    struct bytes host = peer;
    while (host.size > 0 && host.data[host.size - 1] != ':')
        host.size--;
    host.size -= host.size > 0;
    if (host.size > 2 && host.data[0] == '[')
        host = (struct bytes){host.data + 1, host.size - 2};
    if (!address_parse(host, &address))
        return hash_64(key, peer.data, host.size);
    if (address.ipv6)
        address_mask(&address, IPV6_SITE_BITS);
    return hash_64(key, &address, sizeof address);
}

uint64_t guessers_barred_ns(const struct guessers *guessers, uint64_t address, uint64_t now_ns)
{
    const struct guesser *set = guessers->set[address % GUESSERS_SETS];
    /* a bucket that is full by then has room for one more wrong password now */
    const uint64_t free_ns = now_ns + (GUESSES_MAX - 1) * GUESS_NS;
    for (unsigned i = 0; i < GUESSERS_IN_A_SET; i++)
        if (set[i].clear_ns > 0 && set[i].address == address)
            return set[i].clear_ns > free_ns ? set[i].clear_ns - free_ns : 0;
    return 0;
}

bool guessers_note(struct guessers *guessers, uint64_t address, uint64_t now_ns)
{
    struct guesser *set = guessers->set[address % GUESSERS_SETS], *place = &set[0];
    for (unsigned i = 0; i < GUESSERS_IN_A_SET; i++) {
        if (set[i].clear_ns > 0 && set[i].address == address) {
            place = &set[i];
            break;
        }
        if (set[i].clear_ns < place->clear_ns)
            place = &set[i];
    }
    if (place->address != address || place->clear_ns < now_ns)
        *place = (struct guesser){.address = address, .clear_ns = now_ns};
    place->clear_ns += GUESS_NS;
    return guessers_barred_ns(guessers, address, now_ns) > 0;
}
