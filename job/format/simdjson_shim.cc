/* simdjson_shim.cc - see simdjson_shim.h. On-demand parsing: strings are unescaped only where
 * somebody looks at them, and numbers stay text, so that decimals lose nothing. What it would skip
 * unseen is walked through here, for the checks. */
#define SIMDJSON_EXCEPTIONS 0
#include "job/format/simdjson_shim.h"

#include <simdjson.h>

#include <cstdlib>
#include <cstring>
#include <new>

using simdjson::error_code;
namespace ondemand = simdjson::ondemand;

static_assert(simdjson::SIMDJSON_PADDING <= JSON_LINE_PADDING, "the line needs more padding");

struct json_parser {
    ondemand::parser parser;
};

extern "C" struct json_parser *json_parser_new(void)
{
    struct json_parser *p = new (std::nothrow) json_parser;

    if (p == nullptr)
        std::abort();
    return p;
}

extern "C" void json_parser_free(struct json_parser *p)
{
    delete p;
}

namespace
{

constexpr unsigned DEPTH_MAX = 1000; /* arrays and objects in one another; Jackson's limit */

std::string_view trimmed(std::string_view token)
{
    while (!token.empty() && (token.back() == ' ' || token.back() == '\t' || token.back() == '\r' ||
                              token.back() == '\n'))
        token.remove_suffix(1);
    return token;
}

size_t digits(std::string_view t, size_t at)
{
    size_t from = at;

    while (at < t.size() && t[at] >= '0' && t[at] <= '9')
        at++;
    return at - from;
}

bool is_number(std::string_view t)
{
    size_t at = !t.empty() && t[0] == '-', n = digits(t, at);

    if (n == 0 || (n > 1 && t[at] == '0'))
        return false;
    at += n;
    if (at < t.size() && t[at] == '.') {
        n = digits(t, at + 1);
        if (n == 0)
            return false;
        at += 1 + n;
    }
    if (at < t.size() && (t[at] == 'e' || t[at] == 'E')) {
        at++;
        if (at < t.size() && (t[at] == '+' || t[at] == '-'))
            at++;
        n = digits(t, at);
        if (n == 0)
            return false;
        at += n;
    }
    return at == t.size();
}

void set(struct json_slot *slot, enum json_slot_kind kind, std::string_view text)
{
    slot->kind = kind;
    slot->text = reinterpret_cast<const uint8_t *>(text.data());
    slot->len = text.size();
}

/* A value that is neither string, array nor object. */
error_code take_scalar(std::string_view token, struct json_slot *slot)
{
    token = trimmed(token);
    if (token == "null")
        set(slot, JSON_SLOT_NULL, token);
    else if (token == "true")
        set(slot, JSON_SLOT_TRUE, token);
    else if (token == "false")
        set(slot, JSON_SLOT_FALSE, token);
    else if (is_number(token))
        set(slot, JSON_SLOT_NUMBER, token);
    else
        return simdjson::TAPE_ERROR;
    return simdjson::SUCCESS;
}

error_code take_value(ondemand::value value, unsigned depth, struct json_slot *slot);

error_code walk_array(ondemand::value value, unsigned depth)
{
    ondemand::array array;
    error_code error = value.get_array().get(array);

    if (error)
        return error;
    for (auto element : array) {
        ondemand::value inner;
        struct json_slot ignored;

        error = std::move(element).get(inner);
        if (!error)
            error = take_value(inner, depth + 1, &ignored);
        if (error)
            return error;
    }
    return simdjson::SUCCESS;
}

error_code walk_object(ondemand::value value, unsigned depth)
{
    ondemand::object object;
    error_code error = value.get_object().get(object);

    if (error)
        return error;
    for (auto result : object) {
        ondemand::field field;
        std::string_view key;
        struct json_slot ignored;

        error = std::move(result).get(field);
        if (!error)
            error = field.unescaped_key().get(key);
        if (!error)
            error = take_value(field.value(), depth + 1, &ignored);
        if (error)
            return error;
    }
    return simdjson::SUCCESS;
}

/* Checks all of a value; text of strings and numbers into the slot. */
error_code take_value(ondemand::value value, unsigned depth, struct json_slot *slot)
{
    std::string_view token = value.raw_json_token(), text;
    error_code error;

    if (depth > DEPTH_MAX)
        return simdjson::DEPTH_ERROR;
    switch (token.empty() ? '\0' : token[0]) {
    case '"':
        error = value.get_string().get(text);
        if (!error)
            set(slot, JSON_SLOT_STRING, text);
        return error;
    case '[':
        set(slot, JSON_SLOT_NESTED, token);
        return walk_array(value, depth);
    case '{':
        set(slot, JSON_SLOT_NESTED, token);
        return walk_object(value, depth);
    default:
        return take_scalar(token, slot);
    }
}

/* Fields come mostly in the order of the columns: try the one behind the last. */
size_t find_name(std::string_view key, const struct json_name *names, size_t count, size_t hint)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = hint + i < count ? hint + i : hint + i - count;

        if (names[at].len == key.size() && std::memcmp(names[at].text, key.data(), key.size()) == 0)
            return at;
    }
    return count;
}

error_code take_object(ondemand::object object, const struct json_name *names, size_t count,
                       struct json_slot *slots)
{
    size_t hint = 0;

    for (auto result : object) {
        ondemand::field field;
        std::string_view key;
        struct json_slot ignored;
        error_code error = std::move(result).get(field);
        size_t at;

        if (!error)
            error = field.unescaped_key().get(key);
        if (error)
            return error;
        at = find_name(key, names, count, hint);
        error = take_value(field.value(), 1, at < count ? &slots[at] : &ignored);
        if (error)
            return error;
        if (at < count)
            hint = at + 1 < count ? at + 1 : 0;
    }
    return simdjson::SUCCESS;
}

enum json_fault fault_of(error_code error, const char **reason)
{
    switch (error) {
    case simdjson::UTF8_ERROR:
        *reason = "not UTF-8";
        return JSON_BAD_UTF8;
    case simdjson::UNCLOSED_STRING:
        *reason = "a string is not closed";
        return JSON_BROKEN;
    case simdjson::UNESCAPED_CHARS:
        *reason = "a control character in a string is not escaped";
        return JSON_BROKEN;
    case simdjson::STRING_ERROR:
        *reason = "a wrong escape in a string";
        return JSON_BROKEN;
    case simdjson::DEPTH_ERROR:
        *reason = "nested too deep";
        return JSON_BROKEN;
    case simdjson::INCOMPLETE_ARRAY_OR_OBJECT:
        *reason = "does not end with a closing bracket";
        return JSON_BROKEN;
    case simdjson::CAPACITY:
        *reason = "the line is too long";
        return JSON_BROKEN;
    case simdjson::MEMALLOC:
        std::abort();
    default:
        *reason = "not JSON";
        return JSON_BROKEN;
    }
}

} // namespace

/* The line is something else than an object. */
static enum json_fault no_object(ondemand::document &document, ondemand::json_type type,
                                 const char **reason)
{
    std::string_view token;
    struct json_slot ignored;
    bool scalar = type != ondemand::json_type::array && type != ondemand::json_type::string;

    if (scalar && (document.raw_json_token().get(token) || take_scalar(token, &ignored))) {
        *reason = "not JSON";
        return JSON_BROKEN;
    }
    *reason = "not an object";
    return JSON_NO_OBJECT;
}

extern "C" enum json_fault json_parser_line(struct json_parser *p, const uint8_t *line, size_t len,
                                            const struct json_name *names, size_t name_count,
                                            struct json_slot *slots, const char **reason)
{
    ondemand::document document;
    ondemand::object object;
    ondemand::json_type type;
    error_code error = p->parser.iterate(line, len, len + JSON_LINE_PADDING).get(document);

    for (size_t i = 0; i < name_count; i++)
        slots[i].kind = JSON_SLOT_MISSING;
    if (error)
        return fault_of(error, reason);
    if (document.type().get(type)) {
        *reason = "not JSON";
        return JSON_BROKEN;
    }
    if (type != ondemand::json_type::object)
        return no_object(document, type, reason);
    error = document.get_object().get(object);
    if (!error)
        error = take_object(object, names, name_count, slots);
    if (error)
        return fault_of(error, reason);
    if (document.current_location().error() != simdjson::OUT_OF_BOUNDS) {
        *reason = "text after the object";
        return JSON_BROKEN;
    }
    return JSON_FINE;
}
