/*
 * Says of each try of a request who is before it in the waiting room, and moves it in and out.
 */
#include "commands/patient.h"

#include "commands/centrally.h"
#include "commands/commands.h"
#include "edge/central/central.h"
#include "wire/command.h"

_Static_assert((int)COMMAND_PATIENCE_MAX_MS == (int)PATIENCE_MAX_MS,
               "what clients may say is what a charge may have");

void patient_say(struct match *match, int32_t patience_ms)
{
    for (uint32_t i = 0; patience_ms != COMMAND_PATIENCE_NONE && i < match->count; i++)
        match->charge[i].patience_ms = (uint16_t)patience_ms;
}

bool patient_is(const struct match *match)
{
    for (uint32_t i = 0; i < match->count; i++)
        if ((match->charge[i].patience_ms > 0 && !match->charge[i].shadow) ||
            match->charge[i].central != CENTRAL_NOT)
            return true;
    return false;
}

static void note_count(struct commands *commands)
{
    commands->stats.patience_waiting = commands->waiting.count;
}

void patient_begin(struct commands *commands, struct patient *patient, uint32_t *ticket,
                   const struct charge *charges, uint32_t count, uint64_t now_ns)
{
    const struct waiting_room *room = &commands->waiting;
    struct await *await = &patient->await;
    *patient = (struct patient){0};
    patient->ticket = ticket;
    if ((*ticket & CENTRALLY_TICKET) != 0)
        patient_leave(commands, ticket); /* no rule of the request is central any more */
    if (*ticket > 0) {
        await->ahead = waiting_key(room, *ticket);
        await->ahead_tokens = waiting_ahead(room, *ticket, now_ns);
        await->waiting_tokens = waiting_tokens(room, await->ahead);
        await->last = waiting_is_over(room, *ticket, now_ns);
        return;
    }
    patient->crowded = await->last = !waiting_has_room(room);
    for (uint32_t i = 0; i < count && await->ahead_tokens == 0; i++)
        if (charges[i].patience_ms > 0 && !charges[i].shadow) {
            await->ahead = charges[i].id;
            await->ahead_tokens = waiting_tokens(room, charges[i].id);
        }
}

/* The time within which refill alone admits nothing. */
static uint64_t wait_ns(const struct verdict *verdicts, uint32_t count)
{
    uint64_t longest_ns = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!verdicts[i].allowed && verdicts[i].retry_after_ns > longest_ns)
            longest_ns = verdicts[i].retry_after_ns;
    return longest_ns;
}

static void hold(struct commands *commands, const struct patient *patient, uint64_t now_ns)
{
    const struct await *await = &patient->await;
    const struct key_id key = await->ahead_tokens > 0 ? await->ahead : await->key;
    if (*patient->ticket == 0)
        *patient->ticket =
            waiting_enter(&commands->waiting, key, await->tokens, now_ns + await->patience_ms * UINT64_C(1000000));
}

static bool lacks_share(const struct verdict *verdicts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!verdicts[i].allowed && verdict_is_of_share(&verdicts[i]))
            return true;
    return false;
}

bool patient_end(struct commands *commands, struct patient *patient, bool allowed, const struct verdict *verdicts,
                 uint32_t count, uint64_t now_ns)
{
    struct commands_stats *stats = &commands->stats;
    if (patient->await.held) {
        hold(commands, patient, now_ns);
        waiting_note_tried(&commands->waiting, *patient->ticket, now_ns, node_stepped_ns(commands->node),
                           wait_ns(verdicts, count));
        note_count(commands);
        return true;
    }
    if (*patient->ticket > 0)
        *(allowed ? &stats->patience_admitted : &stats->patience_refused) += 1;
    else if (patient->crowded && !allowed && lacks_share(verdicts, count))
        stats->patience_crowded++;
    patient_leave(commands, patient->ticket);
    return false;
}

void patient_leave(struct commands *commands, uint32_t *ticket)
{
    if (*ticket == 0)
        return;
    if ((*ticket & CENTRALLY_TICKET) != 0) {
        centrally_leave(commands, ticket);
        return;
    }
    waiting_leave(&commands->waiting, *ticket);
    *ticket = 0;
    note_count(commands);
}

bool patient_is_due(struct commands *commands, uint32_t ticket, uint64_t now_ns)
{
    if ((ticket & CENTRALLY_TICKET) != 0)
        return centrally_is_due(commands, ticket);
    return waiting_is_due(&commands->waiting, ticket, now_ns, node_stepped_ns(commands->node));
}

void patient_stop(struct commands *commands)
{
    commands->waiting.ends = true;
    if (commands->central != NULL)
        central_stop(commands->central);
    if (commands->central_before != NULL)
        central_stop(commands->central_before);
}
