#include "tests/lib/redis.h"

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { START_MS = 60000, POLL_MS = 5 };

static void run(const char *directory, const char *socket)
{
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)dup2(null, 0);
    (void)dup2(null, 1);
    (void)dup2(null, 2);
    (void)execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", socket, "--dir", directory,
                 "--save", "", "--appendonly", "no", (char *)NULL);
    _exit(127);
}

bool test_redis_start(struct test_redis *redis)
{
    char socket[sizeof redis->directory + 8];
    *redis = (struct test_redis){.directory = "/tmp/headgate-redis-XXXXXX"};
    const char *made = mkdtemp(redis->directory);
    assert(made != NULL);
    (void)snprintf(socket, sizeof socket, "%s/socket", redis->directory);
    redis->pid = fork();
    assert(redis->pid >= 0);
    if (redis->pid == 0)
        run(redis->directory, socket);
    for (int waited_ms = 0; waited_ms < START_MS; waited_ms += POLL_MS) {
        redis->client = redisConnectUnix(socket);
        if (redis->client != NULL && redis->client->err == 0)
            return true;
        if (redis->client != NULL)
            redisFree(redis->client);
        redis->client = NULL;
        if (waitpid(redis->pid, NULL, WNOHANG) == redis->pid) {
            redis->pid = 0;
            break;
        }
        (void)poll(NULL, 0, POLL_MS);
    }
    test_redis_stop(redis);
    return false;
}

void test_redis_stop(struct test_redis *redis)
{
    char socket[sizeof redis->directory + 8];
    if (redis->client != NULL)
        redisFree(redis->client);
    if (redis->pid > 0) {
        (void)kill(redis->pid, SIGKILL);
        (void)waitpid(redis->pid, NULL, 0);
    }
    (void)snprintf(socket, sizeof socket, "%s/socket", redis->directory);
    (void)unlink(socket);
    (void)rmdir(redis->directory);
    *redis = (struct test_redis){0};
}
