#include "edge/peers/endpoint.h"

#include <linux/tcp.h> /* netinet/tcp.h lacks the newer counters */
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

static const uint8_t mapped[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static struct endpoint of_v4(uint32_t address, uint16_t port)
{
    struct endpoint endpoint = {.port = port};
    memcpy(endpoint.address, mapped, sizeof mapped);
    memcpy(endpoint.address + sizeof mapped, &address, sizeof address);
    return endpoint;
}

static struct endpoint of_v6(const void *address, uint16_t port)
{
    struct endpoint endpoint = {.port = port};
    memcpy(endpoint.address, address, sizeof endpoint.address);
    return endpoint;
}

struct endpoint endpoint_of_nng(const nng_sockaddr *address)
{
    if (address->s_family == NNG_AF_INET)
        return of_v4(address->s_in.sa_addr, address->s_in.sa_port);
    if (address->s_family == NNG_AF_INET6)
        return of_v6(address->s_in6.sa_addr, address->s_in6.sa_port);
    return (struct endpoint){0};
}

union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static struct endpoint of_system(const union address *address)
{
    if (address->any.sa_family == AF_INET)
        return of_v4(address->v4.sin_addr.s_addr, address->v4.sin_port);
    if (address->any.sa_family == AF_INET6)
        return of_v6(&address->v6.sin6_addr, address->v6.sin6_port);
    return (struct endpoint){0};
}

static struct endpoint named(int fd, int (*name)(int fd, struct sockaddr *address, socklen_t *size))
{
    union address address = {.any.sa_family = AF_UNSPEC};
    socklen_t size = sizeof address;
    return name(fd, &address.any, &size) == 0 ? of_system(&address) : (struct endpoint){0};
}

struct endpoint endpoint_local(int fd)
{
    return named(fd, getsockname);
}

struct endpoint endpoint_remote(int fd)
{
    return named(fd, getpeername);
}

bool endpoint_same_address(const struct endpoint *a, const struct endpoint *b)
{
    return memcmp(a->address, b->address, sizeof a->address) == 0;
}

bool endpoint_ring_has(const struct endpoint_ring *ring, const struct endpoint *endpoint)
{
    for (size_t i = 0; i < ENDPOINT_RING_MAX; i++)
        if (ring->at[i].port != 0 && endpoint_same_address(&ring->at[i], endpoint))
            return true;
    return false;
}

bool endpoint_ring_add(struct endpoint_ring *ring, const struct endpoint *endpoint)
{
    if (endpoint->port == 0 || endpoint_ring_has(ring, endpoint))
        return false;
    ring->at[ring->next++ % ENDPOINT_RING_MAX] = *endpoint;
    return true;
}

bool endpoint_same_place(const struct endpoint *a, const struct endpoint *b)
{
    const bool is_v4 = memcmp(a->address, mapped, sizeof mapped) == 0;
    return memcmp(a->address, b->address, is_v4 ? sizeof a->address : 8) == 0;
}

bool endpoint_same(const struct endpoint *a, const struct endpoint *b)
{
    return a->port == b->port && endpoint_same_address(a, b);
}

bool endpoint_arrivals(int fd, struct arrivals *arrivals)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
        size < offsetof(struct tcp_info, tcpi_rcv_ooopack) + sizeof info.tcpi_rcv_ooopack)
        return false;
    *arrivals = (struct arrivals){.segments = info.tcpi_data_segs_in, .disordered = info.tcpi_rcv_ooopack};
    return true;
}

ino_t endpoint_inode(int fd)
{
    struct stat of;
    return fstat(fd, &of) == 0 && S_ISSOCK(of.st_mode) ? of.st_ino : 0;
}
