"""json_schema.py - the part of JSON Schema that docs/*.schema.json use, stricter: a member that no schema names is an error too, so that
what is new in an output comes into its schema."""


def errors(value, schema, root=None, at="$"):
    """What is wrong with the value, as a list of texts."""
    root = root or schema
    if "$ref" in schema:
        target = root
        for name in schema["$ref"].lstrip("#/").split("/"):
            target = target[name]
        return errors(value, target, root, at)
    if "anyOf" in schema:
        tries = [errors(value, s, root, at) for s in schema["anyOf"]]
        return [] if any(not t for t in tries) else min(tries, key=len)
    found = []
    if "const" in schema and value != schema["const"]:
        return ["%s: %r is not %r" % (at, value, schema["const"])]
    if "enum" in schema and value not in schema["enum"]:
        return ["%s: %r is none of %r" % (at, value, schema["enum"])]
    if "type" in schema and not is_a(value, schema["type"]):
        return ["%s: %r is no %s" % (at, value, schema["type"])]
    if isinstance(value, int) and value < schema.get("minimum", value):
        found.append("%s: %r is less than %r" % (at, value, schema["minimum"]))
    if isinstance(value, dict):
        found += ["%s: lacks %s" % (at, n) for n in schema.get("required", []) if n not in value]
        for name, member in value.items():
            if name in schema.get("properties", {}):
                found += errors(member, schema["properties"][name], root, at + "." + name)
            elif "additionalProperties" in schema:
                found += errors(member, schema["additionalProperties"], root, at + "." + name)
            elif "what" not in schema.get("properties", {}):  # an item's other members depend on what it is
                found.append("%s: the schema has no %s" % (at, name))
    if isinstance(value, list):
        for i, member in enumerate(value):
            found += errors(member, schema.get("items", {}), root, "%s[%d]" % (at, i))
    return found


def is_a(value, types):
    kinds = {"string": str, "object": dict, "array": list, "boolean": bool, "null": type(None)}
    for t in [types] if isinstance(types, str) else types:
        if t == "integer" and isinstance(value, int) and not isinstance(value, bool):
            return True
        if t in kinds and isinstance(value, kinds[t]):
            return True
    return False
