/* expr_print.c - a bound expression as canonical SQL text. Operands that are operators themselves
 * stand in parentheses; AND and OR chains do not show how they were nested. */
#include "job/sql/expr_priv.h"

void name_print(const char *name, struct buf *out)
{
    bool plain = name[0] != '\0' && !(name[0] >= '0' && name[0] <= '9');

    for (const char *p = name; *p != '\0'; p++)
        plain &= *p == '_' || *p == '$' || (*p >= '0' && *p <= '9') ||
                 ((*p | 0x20) >= 'a' && (*p | 0x20) <= 'z');
    if (plain) {
        buf_append_str(out, name);
        return;
    }
    buf_append_u8(out, '`');
    for (const char *p = name; *p != '\0'; p++) {
        if (*p == '`')
            buf_append_u8(out, '`');
        buf_append_u8(out, (uint8_t)*p);
    }
    buf_append_u8(out, '`');
}

static const char *op_word(const struct expr *e)
{
    static const char *const compare[] = {[OP_EQ] = "=",  [OP_NE] = "<>", [OP_LT] = "<",
                                          [OP_LE] = "<=", [OP_GT] = ">",  [OP_GE] = ">="};

    if (e->kind == NODE_AND)
        return "AND";
    if (e->kind == NODE_OR)
        return "OR";
    if (e->kind != NODE_CALL)
        return NULL;
    if (e->func == &func_compare)
        return compare[e->param];
    if (e->func == &func_concat_op)
        return "||";
    if (e->func == &func_shift_time)
        return "+";
    if (e->func == &func_distinct)
        return e->param ? "IS NOT DISTINCT FROM" : "IS DISTINCT FROM";
    if (e->arg_count == 2 && (e->func == &func_add || e->func == &func_sub ||
                              e->func == &func_mul || e->func == &func_div || e->func == &func_mod))
        return e->func->name;
    return NULL;
}

static bool is_operator(const struct expr *e)
{
    if (e->kind == NODE_REQUIRE)
        return is_operator(e->args[0]);
    return op_word(e) != NULL || e->kind == NODE_IN ||
           (e->kind == NODE_CALL &&
            (e->func == &func_neg || e->func == &func_not || e->func == &func_is_null ||
             e->func == &func_is_bool || strcmp(e->func->name, "LIKE") == 0));
}

static void print_operand(const struct expr *e, const struct schema *s, struct buf *out, bool bare)
{
    bool parens = is_operator(e) && !bare;

    buf_append_str(out, parens ? "(" : "");
    expr_print(e, s, out);
    buf_append_str(out, parens ? ")" : "");
}

static void print_list(const struct expr *e, uint32_t from, const struct schema *s, struct buf *out)
{
    for (uint32_t i = from; i < e->arg_count; i++) {
        buf_append_str(out, i == from ? "" : ", ");
        expr_print(e->args[i], s, out);
    }
}

static void print_case(const struct expr *e, const struct schema *s, struct buf *out)
{
    buf_append_str(out, "CASE");
    for (uint32_t i = 0; i + 1 < e->arg_count; i += 2) {
        buf_append_str(out, " WHEN ");
        expr_print(e->args[i], s, out);
        buf_append_str(out, " THEN ");
        expr_print(e->args[i + 1], s, out);
    }
    buf_append_str(out, " ELSE ");
    expr_print(e->args[e->arg_count - 1], s, out);
    buf_append_str(out, " END");
}

static const char *const units[] = {
    "MILLENNIUM", "CENTURY", "DECADE", "YEAR",    "QUARTER",     "MONTH",       "WEEK",
    "DAY",        "HOUR",    "MINUTE", "SECOND",  "MILLISECOND", "MICROSECOND", "NANOSECOND",
    "DOY",        "DOW",     "ISODOW", "ISOYEAR", "EPOCH"};

bool time_unit_parse(const char *word, enum time_unit *out)
{
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        if (strcmp(units[i], word) == 0) {
            *out = (enum time_unit)i;
            return true;
        }
    }
    return false;
}

static void print_call(const struct expr *e, const struct schema *s, struct buf *out)
{
    const char *name = e->func->canonical != NULL ? e->func->canonical : e->func->name;

    if (strcmp(name, "EXTRACT") == 0) {
        buf_printf(out, "EXTRACT(%s FROM ", units[e->param]);
        print_list(e, 0, s, out);
    } else if (strcmp(name, "TIMESTAMPADD") == 0 || strcmp(name, "TIMESTAMPDIFF") == 0) {
        buf_printf(out, "%s(%s, ", name, units[e->param]);
        print_list(e, 0, s, out);
    } else if ((strcmp(name, "FLOOR") == 0 || strcmp(name, "CEIL") == 0) && e->param >= 0 &&
               e->arg_count == 1 && !type_is_numeric(e->type.kind)) {
        buf_printf(out, "%s(", name);
        print_list(e, 0, s, out);
        buf_printf(out, " TO %s", units[e->param]);
    } else {
        buf_printf(out, "%s(", name);
        print_list(e, 0, s, out);
    }
    buf_append_u8(out, ')');
}

static void print_function(const struct expr *e, const struct schema *s, struct buf *out)
{
    static const char *const is[] = {[IS_TRUE] = "TRUE", [IS_FALSE] = "FALSE"};

    if (e->func == &func_neg || e->func == &func_not) {
        buf_append_str(out, e->func == &func_neg ? "-" : "NOT ");
        print_operand(e->args[0], s, out, false);
    } else if (e->func == &func_is_null) {
        print_operand(e->args[0], s, out, false);
        buf_append_str(out, e->param ? " IS NOT NULL" : " IS NULL");
    } else if (e->func == &func_is_bool) {
        print_operand(e->args[0], s, out, false);
        buf_printf(out, " IS %s%s", e->param & 16 ? "NOT " : "", is[e->param & 15]);
    } else if (strcmp(e->func->name, "LIKE") == 0) {
        print_operand(e->args[0], s, out, false);
        buf_append_str(out, " LIKE ");
        print_operand(e->args[1], s, out, false);
        if (e->arg_count > 2) {
            buf_append_str(out, " ESCAPE ");
            print_operand(e->args[2], s, out, false);
        }
    } else {
        print_call(e, s, out);
    }
}

/* AND below OR, or OR below AND: shown with parentheses. */
static bool is_other_chain(const struct expr *e, const struct expr *arg)
{
    return (arg->kind == NODE_AND || arg->kind == NODE_OR) && arg->kind != e->kind;
}

void expr_print(const struct expr *e, const struct schema *input, struct buf *out)
{
    const char *op = op_word(e);
    bool chain = e->kind == NODE_AND || e->kind == NODE_OR;

    if (op != NULL) {
        print_operand(e->args[0], input, out, chain && !is_other_chain(e, e->args[0]));
        buf_printf(out, " %s ", op);
        print_operand(e->args[1], input, out, chain && !is_other_chain(e, e->args[1]));
        return;
    }
    switch (e->kind) {
    case NODE_COLUMN:
        name_print(input != NULL ? input->fields[e->column].name : e->text, out);
        break;
    case NODE_CONST:
        value_print_sql(&e->value.c, 0, out);
        break;
    case NODE_CAST:
        buf_append_str(out, e->try_cast ? "TRY_CAST(" : "CAST(");
        expr_print(e->args[0], input, out);
        buf_append_str(out, " AS ");
        type_print(e->type, false, out);
        buf_append_u8(out, ')');
        break;
    case NODE_CASE:
        print_case(e, input, out);
        break;
    case NODE_COALESCE:
        buf_append_str(out, "COALESCE(");
        print_list(e, 0, input, out);
        buf_append_u8(out, ')');
        break;
    case NODE_IN:
        print_operand(e->args[0], input, out, false);
        buf_append_str(out, e->negated ? " NOT IN (" : " IN (");
        set_print(e->set, out);
        buf_append_u8(out, ')');
        break;
    case NODE_REQUIRE:
        expr_print(e->args[0], input, out);
        break;
    default:
        print_function(e, input, out);
        break;
    }
}
