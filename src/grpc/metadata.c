/*
 * What was decided as dynamic metadata, for filters of the gateway behind its rate limit filter: which descriptors are
 * over, and what those that are not are about, so that a route may follow an alternative that has room.
 *
 * A string of protobuf is UTF-8, or the gateway drops the whole answer: of a value that strangers choose, only ASCII is
 * kept.
 */
#include "google/protobuf/struct.pb-c.h"
#include "grpc/asking.h"

typedef Google__Protobuf__Value Value;
typedef Google__Protobuf__Struct Struct;
typedef Google__Protobuf__Struct__FieldsEntry Field;
typedef Google__Protobuf__ListValue List;

/* ---- values: NULL where the arena has no room ---- */

static Value *new_value(struct grpc_arena *arena, Google__Protobuf__Value__KindCase kind)
{
    Value *value = grpc_arena_take(arena, sizeof *value);
    if (value == NULL)
        return NULL;
    google__protobuf__value__init(value);
    value->kind_case = kind;
    return value;
}

/* The two texts, one after the other. */
static Value *new_text(struct grpc_arena *arena, struct bytes head, struct bytes tail)
{
    Value *value = new_value(arena, GOOGLE__PROTOBUF__VALUE__KIND_STRING_VALUE);
    char *text = grpc_arena_take(arena, head.size + tail.size + 1);
    if (value == NULL || text == NULL)
        return NULL;
    struct output output = output_over(text, head.size + tail.size + 1);
    output_append(&output, head.data, head.size);
    output_append(&output, tail.data, tail.size);
    for (size_t i = 0; i < output.size; i++)
        if (text[i] == '\0' || (unsigned char)text[i] > 0x7f)
            text[i] = '?';
    text[output.size] = '\0';
    value->string_value = text;
    return value;
}

static Value *new_struct(struct grpc_arena *arena, size_t room)
{
    Value *value = new_value(arena, GOOGLE__PROTOBUF__VALUE__KIND_STRUCT_VALUE);
    Struct *fields = grpc_arena_take(arena, sizeof *fields);
    if (value == NULL || fields == NULL)
        return NULL;
    google__protobuf__struct__init(fields);
    fields->fields = grpc_arena_take(arena, room * sizeof(Field *));
    value->struct_value = fields;
    return fields->fields != NULL ? value : NULL;
}

static Value *new_list(struct grpc_arena *arena, size_t room)
{
    Value *value = new_value(arena, GOOGLE__PROTOBUF__VALUE__KIND_LIST_VALUE);
    List *list = grpc_arena_take(arena, sizeof *list);
    if (value == NULL || list == NULL)
        return NULL;
    google__protobuf__list_value__init(list);
    list->values = grpc_arena_take(arena, room * sizeof(Value *));
    value->list_value = list;
    return list->values != NULL ? value : NULL;
}

/* False: `value` is NULL, or there is no room for the field. */
static bool put(struct grpc_arena *arena, Struct *fields, struct bytes key, Value *value)
{
    Field *field = grpc_arena_take(arena, sizeof *field);
    char *name = grpc_arena_text(arena, key);
    if (value == NULL || field == NULL || name == NULL)
        return false;
    google__protobuf__struct__fields_entry__init(field);
    field->key = name;
    field->value = value;
    fields->fields[fields->n_fields++] = field;
    return true;
}

static bool append(List *list, Value *value)
{
    if (value == NULL)
        return false;
    list->values[list->n_values++] = value;
    return true;
}

/* ---- what is said ---- */

static bool is_over(const struct asking *asking, size_t index)
{
    return asking->reply.response.statuses[index]->code ==
           ENVOY__SERVICE__RATELIMIT__V3__RATE_LIMIT_RESPONSE__CODE__OVER_LIMIT;
}

/* {"entries": ["key=value", ...], "over": true} */
static Value *descriptor(struct asking *asking, size_t index)
{
    struct grpc_arena *arena = &asking->grpc->arena;
    const Descriptor *said = asking->asked[index].descriptor;
    Value *about = new_struct(arena, 2), *entries = new_list(arena, said->n_entries + 1);
    Value *over = new_value(arena, GOOGLE__PROTOBUF__VALUE__KIND_BOOL_VALUE);
    if (about == NULL || entries == NULL || over == NULL)
        return NULL;
    over->bool_value = is_over(asking, index);
    for (size_t i = 0; i < said->n_entries; i++) {
        const Value *key = new_text(arena, bytes_in(said->entries[i]->key), bytes_of("="));
        if (key == NULL || !append(entries->list_value,
                                   new_text(arena, bytes_of(key->string_value), bytes_in(said->entries[i]->value))))
            return NULL;
    }
    return put(arena, about->struct_value, bytes_of("entries"), entries) &&
                   put(arena, about->struct_value, bytes_of("over"), over)
               ? about
               : NULL;
}

static bool has(const Struct *fields, struct bytes key)
{
    for (size_t i = 0; i < fields->n_fields; i++)
        if (bytes_equal(bytes_of(fields->fields[i]->key), key))
            return true;
    return false;
}

/* The identifiers of the descriptors that are not over; of a key that several name, the first one's. */
static Value *identifiers(struct asking *asking)
{
    struct grpc_arena *arena = &asking->grpc->arena;
    Value *all = new_struct(arena, asking->request->n_descriptors * COMMAND_IDS_MAX);
    for (size_t i = 0; i < asking->request->n_descriptors && all != NULL; i++) {
        const struct command_query *query = &asking->asked[i].query;
        for (uint32_t at = 0; at < query->id_count && !is_over(asking, i); at++) {
            const struct command_id_words *id = &query->id[at];
            if (bytes_equal(id->dimension, bytes_of("*")) || has(all->struct_value, id->dimension))
                continue;
            if (!put(arena, all->struct_value, id->dimension, new_text(arena, id->value, bytes_of(""))))
                return NULL;
        }
    }
    return all;
}

bool asking_put_metadata(struct asking *asking)
{
    struct grpc_arena *arena = &asking->grpc->arena;
    const size_t count = asking->request->n_descriptors;
    Value *top = new_struct(arena, 3), *descriptors = new_list(arena, count);
    if (top == NULL || descriptors == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!append(descriptors->list_value, descriptor(asking, i)))
            return false;
    Struct *fields = top->struct_value;
    asking->reply.response.dynamic_metadata = fields;
    return put(arena, fields, bytes_of("domain"),
               new_text(arena, bytes_in(asking->request->domain), bytes_of(""))) &&
           put(arena, fields, bytes_of("descriptors"), descriptors) &&
           put(arena, fields, bytes_of("metadata"), identifiers(asking));
}
