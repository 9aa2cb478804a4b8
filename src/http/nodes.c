/*
 * GET /v1/nodes: what NODES says, as JSON: the peers as this daemon sees them.
 */
#include "base/hex.h"
#include "cluster/node.h"
#include "http/call.h"

#include <string.h>

static void put_share(struct output *output, uint64_t share)
{
    put_decimal(output, ",\"share\":", (double)share / (double)SHARE_ONE, 6);
}

static void put_clock(struct output *output, const struct peer_report *peer)
{
    put_word(output, ",\"clock\":", bytes_of(clock_state_name(peer->clock)));
    put_text(output, ",\"clock_rate\":");
    if (peer->clock != CLOCK_UNMEASURED)
        put_real(output, 1 + (double)peer->clock_ppm / 1e6, 6);
    else
        put_text(output, "null");
    put_count(output, ",\"clock_jumps\":", peer->clock_jumps);
    const int64_t ahead_ms = peer->wall_ahead_ms;
    if (peer->wall_known)
        put_count(output, ahead_ms < 0 ? ",\"clock_offset_ms\":-" : ",\"clock_offset_ms\":",
                  (uint64_t)(ahead_ms < 0 ? -ahead_ms : ahead_ms));
    else
        put_text(output, ",\"clock_offset_ms\":null");
}

static void put_fingerprint(struct output *output, const char *name, const uint8_t key[NODE_KEY_BYTES])
{
    static const uint8_t none[NODE_KEY_BYTES];
    char text[2 * NODE_KEY_BYTES + 1];
    hex_write(key, NODE_KEY_BYTES, text);
    if (memcmp(key, none, sizeof none) != 0) {
        put_word(output, name, bytes_of(text));
        return;
    }
    put_text(output, name);
    put_text(output, "null");
}

static void put_peer(struct output *output, const struct peer_report *peer)
{
    put_word(output, "{\"node\":", bytes_of(peer->name));
    put_word(output, ",\"region\":", bytes_of(peer->region));
    put_word(output, ",\"address\":", bytes_of(peer->gossip_address));
    put_word(output, ",\"state\":", bytes_of(peer_state_name(peer->state)));
    put_flag(output, ",\"self\":", peer->self);
    put_flag(output, ",\"decides\":", peer->decides);
    put_figure(output, ",\"heard_ago_ms\":", peer->self ? 0 : call_ms(peer->heard_ago_ns));
    put_count(output, ",\"round_trip_us\":", peer->round_trip_ns / 1000);
    put_count(output, ",\"lag_batches\":", peer->lag_batches);
    put_count(output, ",\"log_batches\":", peer->log_batches);
    put_share(output, peer->share);
    put_flag(output, ",\"config_differs\":", peer->config_differs);
    put_count(output, ",\"incarnation\":", peer->incarnation);
    put_count(output, ",\"received_messages\":", peer->traffic.received_messages);
    put_count(output, ",\"received_bytes\":", peer->traffic.received_bytes);
    put_count(output, ",\"sent_messages\":", peer->traffic.sent_messages);
    put_count(output, ",\"sent_bytes\":", peer->traffic.sent_bytes);
    put_clock(output, peer);
    put_word(output, ",\"key_state\":", bytes_of(key_state_name(peer->key_state)));
    put_fingerprint(output, ",\"key\":", peer->key);
    put_fingerprint(output, ",\"offered_key\":", peer->offered_key);
    put_flag(output, ",\"forgotten\":", peer->forgotten);
    put_flag(output, ",\"passed_over\":", peer->passed_over);
    put_text(output, "}");
}

void http_nodes(struct http_call *call)
{
    const struct commands *commands = call->http->commands;
    struct output *body = &call->body;
    struct peer_report peers[NODE_PEERS_MAX];
    struct node_status status;
    char waits_for[NODE_NOTICE_BYTES];
    node_waits_for(commands->node, waits_for);
    node_status(commands->node, &status);
    const size_t count = node_peers(commands->node, call->turn.now_ns, peers);
    call->work += command_table[COMMAND_NODES].work;
    put_word(body, "{\"node\":", bytes_of(commands->name));
    put_word(body, ",\"region\":", bytes_of(commands->region));
    put_word(body, ",\"state\":", bytes_of(peer_state_name(status.state)));
    put_word(body, ",\"waits_for\":", bytes_of(waits_for));
    put_flag(body, ",\"decides\":", status.decides);
    put_word(body, ",\"config\":", bytes_of(config_state_name(status.config_state)));
    put_count(body, ",\"reachable_peers\":", status.reachable_peers);
    put_share(body, status.share);
    put_text(body, ",\"peers\":[");
    for (size_t i = 0; i < count && i < NODE_PEERS_MAX; i++) {
        put_text(body, i > 0 ? "," : "");
        put_peer(body, &peers[i]);
    }
    put_text(body, "]}\n");
}
