/*
 * GET /healthz: the daemon is alive; GET /readyz: it decides.
 */
#include "cluster/node.h"
#include "cluster/node_report.h"
#include "http/call.h"

void http_alive(struct http_call *call)
{
    call->type = "text/plain";
    put_text(&call->body, "alive\n");
}

void http_ready(struct http_call *call)
{
    struct node_status status;
    node_status(call->http->commands->node, &status);
    call->status = status.decides ? 200 : 503;
    put_text(&call->body, status.decides ? "{\"ready\":true,\"state\":" : "{\"ready\":false,\"state\":");
    put_string(&call->body, bytes_of(peer_state_name(status.state)));
    put_word(&call->body, ",\"config\":", bytes_of(config_state_name(status.config_state)));
    put_text(&call->body, "}\n");
}
