/*
 * Which paths there are. A page that is a text is a row here and a function in a file of its own.
 */
#include "http/call.h"

enum {
    READS = HTTP_METHOD_GET | HTTP_METHOD_HEAD,
    CHANGES = HTTP_METHOD_POST | HTTP_METHOD_PUT | HTTP_METHOD_DELETE,
    ANY = READS | CHANGES | HTTP_METHOD_OTHER
};

/* In the order in which a path is looked for. */
static const struct http_route routes[] = {
    {"/check", READS | HTTP_METHOD_POST, 0, ROLE_CHECK, ROLE_CHECK, http_gateway},
    {"/check/", ANY, HTTP_ROUTE_BELOW, ROLE_CHECK, ROLE_CHECK, http_gateway},
    {"/v1/check", HTTP_METHOD_POST, 0, ROLE_CHECK, ROLE_CHECK, http_check},
    {"/v1/peek", HTTP_METHOD_POST, 0, ROLE_CHECK | ROLE_READ, ROLE_CHECK | ROLE_READ, http_peek},
    {"/v1/refund", HTTP_METHOD_POST, 0, ROLE_CHECK, ROLE_CHECK, http_refund},
    {"/v1/reset", HTTP_METHOD_POST, 0, ROLE_RULES, ROLE_RULES, http_reset},
    {"/v1/reserve", HTTP_METHOD_POST, 0, ROLE_CHECK, ROLE_CHECK, http_reserve},
    {"/v1/commit", HTTP_METHOD_POST, 0, ROLE_CHECK, ROLE_CHECK, http_commit},
    {"/v1/cancel", HTTP_METHOD_POST, 0, ROLE_CHECK, ROLE_CHECK, http_cancel},
    {"/v1/renew", HTTP_METHOD_POST, 0, ROLE_CHECK, ROLE_CHECK, http_renew},
    {"/v1/explain", READS, 0, ROLE_CHECK | ROLE_READ, ROLE_CHECK | ROLE_READ, http_explain},
    {"/v1/nodes", READS, 0, ROLE_READ, ROLE_READ, http_nodes},
    {"/v1/rules", READS | HTTP_METHOD_POST, HTTP_ROUTE_LONG, ROLE_READ | ROLE_RULES, ROLE_RULES, http_rules},
    {"/v1/rules/", READS | HTTP_METHOD_PUT | HTTP_METHOD_DELETE, HTTP_ROUTE_LONG | HTTP_ROUTE_BELOW,
     ROLE_READ | ROLE_RULES, ROLE_RULES, http_rules_below},
    {"/healthz", READS, HTTP_ROUTE_OPEN, 0, 0, http_alive},
    {"/readyz", READS, HTTP_ROUTE_OPEN, 0, 0, http_ready},
    {"/metrics", READS, HTTP_ROUTE_LONG, ROLE_READ, ROLE_READ, http_metrics},
    {"/v1/live", READS, HTTP_ROUTE_LONG, ROLE_READ, ROLE_READ, http_live},
    {"/", READS, HTTP_ROUTE_OPEN, 0, 0, http_dashboard},
    {"/dashboard.css", READS, HTTP_ROUTE_OPEN, 0, 0, http_dashboard_css},
    {"/dashboard.js", READS, HTTP_ROUTE_OPEN, 0, 0, http_dashboard_js},
    {"/v1/reload", HTTP_METHOD_POST, 0, ROLE_ADMIN, ROLE_ADMIN, http_reload},
    {"/v1/weights", READS | HTTP_METHOD_POST, 0, ROLE_READ | ROLE_ADMIN, ROLE_ADMIN, http_weights},
    {"/v1/hot", READS, 0, ROLE_READ, ROLE_READ, http_hot},
};

const struct http_route *http_route(struct bytes path)
{
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        const struct http_route *route = &routes[i];
        const size_t size = strlen(route->path);
        const bool below = (route->flags & HTTP_ROUTE_BELOW) != 0 && path.size > size;
        if ((path.size == size || below) && memcmp(path.data, route->path, size) == 0)
            return route;
    }
    return NULL;
}
