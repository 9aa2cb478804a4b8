/*
 * Asks for several users from an event loop, that of libuv: all requests are on their way at once, and nothing waits.
 *
 *   cc loop.c $(pkg-config --cflags --libs headgate libuv) -o loop && ./loop HOST:PORT NAME...
 *
 * Give an address as HOST where the loop must not stand still: a name is looked up by a call that may wait.
 */
#include <headgate/client.h>

#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

struct asking {
    struct headgate_client *client;
    uv_poll_t *poll; /* of `fd`; libuv has one handle for each descriptor */
    uv_timer_t deadline;
    int fd;
    char **names; /* whose answers are awaited, in the order of the requests */
    int names_left;
    int exit_status;
};

static void free_handle(uv_handle_t *handle)
{
    free(handle);
}

/* Ends the loop, which runs until nobody has a handle any more. */
static void finish(struct asking *asking, const char *error)
{
    if (error != NULL)
        (void)fprintf(stderr, "loop: %s\n", error);
    asking->exit_status = error != NULL ? EXIT_FAILURE : EXIT_SUCCESS;
    if (asking->poll != NULL)
        uv_close((uv_handle_t *)asking->poll, free_handle);
    asking->poll = NULL;
    uv_close((uv_handle_t *)&asking->deadline, NULL);
}

static void on_ready(uv_poll_t *poll, int status, int events);

/* While a connection is made the descriptor may become another one, also of the same number: each step watches anew. */
static void watch(struct asking *asking)
{
    const int fd = headgate_client_fd(asking->client);
    const int wanted = headgate_client_wanted(asking->client);
    if (asking->poll != NULL && fd != asking->fd) {
        uv_close((uv_handle_t *)asking->poll, free_handle);
        asking->poll = NULL;
    }
    if (asking->poll == NULL) {
        asking->poll = malloc(sizeof *asking->poll);
        if (asking->poll == NULL || uv_poll_init(asking->deadline.loop, asking->poll, fd) != 0)
            abort();
        asking->poll->data = asking;
        asking->fd = fd;
    }
    const int readable = wanted & HEADGATE_CLIENT_READ ? UV_READABLE : 0;
    const int writable = wanted & HEADGATE_CLIENT_WRITE ? UV_WRITABLE : 0;
    (void)uv_poll_start(asking->poll, readable | writable, on_ready);
}

/* Prints the answers that have come. False: the connection is of no use any more. */
static bool take_answers(struct asking *asking)
{
    const struct headgate_reply *reply;
    enum headgate_client_status status;
    while ((status = headgate_client_poll(asking->client, &reply)) == HEADGATE_CLIENT_OK ||
           status == HEADGATE_CLIENT_REFUSED) {
        if (status == HEADGATE_CLIENT_REFUSED)
            printf("%s: an error: %s\n", *asking->names, reply->text);
        else
            printf("%s: %s\n", *asking->names, reply->integer == 1 ? "go ahead" : "not now");
        asking->names++;
        asking->names_left--;
    }
    return status == HEADGATE_CLIENT_AGAIN || asking->names_left == 0;
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct asking *asking = poll->data;
    int ready = HEADGATE_CLIENT_READ | HEADGATE_CLIENT_WRITE; /* an error is both */
    if (status == 0)
        ready =
            (events & UV_READABLE ? HEADGATE_CLIENT_READ : 0) | (events & UV_WRITABLE ? HEADGATE_CLIENT_WRITE : 0);
    const enum headgate_client_status step = headgate_client_step(asking->client, ready);
    if ((step != HEADGATE_CLIENT_OK && step != HEADGATE_CLIENT_AGAIN) || !take_answers(asking))
        finish(asking, headgate_client_message(asking->client));
    else if (asking->names_left == 0)
        finish(asking, NULL);
    else
        watch(asking);
}

static void on_deadline(uv_timer_t *timer)
{
    finish(timer->data, "no answer in time");
}

int main(int argc, char **argv)
{
    const struct headgate_client_options options = {.address = argc > 1 ? argv[1] : NULL};
    struct asking asking = {.client = headgate_client_create(&options), .names = argv + 2, .names_left = argc - 2};
    if (argc < 3 || asking.client == NULL)
        return EXIT_FAILURE;
    asking.deadline.data = &asking;
    (void)uv_timer_init(uv_default_loop(), &asking.deadline);
    (void)uv_timer_start(&asking.deadline, on_deadline, 500, 0);

    enum headgate_client_status status = headgate_client_start(asking.client);
    for (int i = 2; i < argc && status == HEADGATE_CLIENT_OK; i++)
        status = headgate_client_queue(asking.client, 2, (const char *const[]){"CAN_ACCESS", argv[i]}, NULL);
    if (status == HEADGATE_CLIENT_OK)
        watch(&asking);
    else
        finish(&asking, headgate_client_message(asking.client));
    (void)uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    headgate_client_destroy(&asking.client);
    return asking.exit_status;
}
