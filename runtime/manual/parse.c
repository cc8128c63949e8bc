/* The parser of command lines (runtime/manual/manual.h). What a value means beyond its row in the table is checked by
 * the command, not here. */
#include <stdio.h>
#include <string.h>

#include "runtime/manual/nearest.h"
#include "runtime/manual/parts.h"

enum { LISTED_BYTES = 512 };

/* Writes "yes or no" for "yes|no". */
static void list_words(const char *value, char text[LISTED_BYTES]) {
    size_t length = 0;
    for (; *value != '\0' && length + 8 < LISTED_BYTES; value++) {
        const char *between = strchr(value + 1, '|') != NULL ? ", " : " or ";
        if (*value != '|')
            text[length++] = *value;
        else
            for (; *between != '\0'; between++)
                text[length++] = *between;
    }
    text[length] = '\0';
}

/* --- values ------------------------------------------------------------------------------------------------------- */

/* Reads digits of a base, 10 or 16. */
static bool read_digits(const char *text, uint32_t base, uint64_t most, uint64_t *value) {
    static const char digits[] = "0123456789abcdef0123456789ABCDEF";
    *value = 0;
    for (const char *c = text; *c != '\0'; c++) {
        const char *found = strchr(digits, *c);
        const uint64_t digit = found != NULL ? (uint64_t)(found - digits) % 16 : base;
        if (digit >= base || digit > most || *value > (most - digit) / base)
            return false;
        *value = *value * base + digit;
    }
    return *text != '\0';
}

bool firn_number_read(const char *text, uint64_t most, uint64_t *value) {
    return strncmp(text, "0x", 2) == 0 ? read_digits(text + 2, 16, most, value) : read_digits(text, 10, most, value);
}

/* A command line that is being read. */
typedef struct reading {
    const firn_manual *manual;
    const firn_command *command;
    void *request;
    uint32_t times[FIRN_OPTIONS_MAX]; /* how often each option was given; by position */
    bool by_old[FIRN_OPTIONS_MAX];    /* by its old name */
} reading;

static void *place(const reading *r, size_t offset) {
    return (char *)r->request + offset;
}

/* Refuses a number. Returns false. */
static bool refuse_number(const reading *r, const firn_option *option, const char *name, const char *value) {
    const char *what = option->what != NULL ? option->what : "a number", *command = r->command->name;
    const unsigned long long least = option->least, most = option->most;
    if (option->mend != NULL)
        return firn_say(r->manual, command, "%s: %s is not %s; %s", name, value, what, option->mend);
    if (option->most == UINT64_MAX)
        return firn_say(r->manual, command, "%s: %s is not %s; write one from %llu", name, value, what, least);
    return firn_say(r->manual, command, "%s: %s is not %s; write one from %llu to %llu", name, value, what, least,
                    most);
}

static bool store_number(const reading *r, const firn_option *option, const char *name, const char *value) {
    uint64_t number;
    if (!firn_number_read(value, option->most, &number) || number < option->least)
        return refuse_number(r, option, name, value);
    if (option->kind == FIRN_OPTION_NUMBER)
        *(uint64_t *)place(r, option->place) = number;
    else
        *(uint32_t *)place(r, option->place) = (uint32_t)number;
    return true;
}

static bool store_word(const reading *r, const firn_option *option, const char *name, const char *value) {
    char listed[LISTED_BYTES];
    const size_t length = strlen(value);
    for (const char *word = option->value; *word != '\0'; word += *word == '|') {
        const size_t each = strcspn(word, "|");
        if (each == length && memcmp(word, value, length) == 0) {
            *(const char **)place(r, option->place) = value;
            return true;
        }
        word += each;
    }
    list_words(option->value, listed);
    return firn_say(r->manual, r->command->name, "%s: %s is not known; write %s", name, value, listed);
}

static bool store_in_list(const reading *r, const firn_option *option, const char *name, const char *value) {
    uint32_t *count = place(r, option->count);
    if (*count >= option->most)
        return firn_say(r->manual, r->command->name, "%s: is given more than %llu times; %s", name,
                        (unsigned long long)option->most, option->mend != NULL ? option->mend : "leave some out");
    ((const char **)place(r, option->place))[(*count)++] = value;
    return true;
}

static bool store_by_reader(const reading *r, const firn_option *option, const char *name, const char *value) {
    const char *fault = option->read(r->request, value);
    return fault == NULL || firn_say(r->manual, r->command->name, "%s: %s %s", name, value, fault);
}

/* Stores a value that is neither empty nor one too many. `name` is the option as it was written, or the word for the
 * operand. */
static bool store(const reading *r, const firn_option *option, const char *name, const char *value) {
    switch (option->kind) {
    case FIRN_OPTION_FLAG:
        *(bool *)place(r, option->place) = true;
        return true;
    case FIRN_OPTION_WORD:
        return store_word(r, option, name, value);
    case FIRN_OPTION_LIST:
        return store_in_list(r, option, name, value);
    case FIRN_OPTION_NUMBER:
    case FIRN_OPTION_NUMBER32:
        return store_number(r, option, name, value);
    case FIRN_OPTION_READ:
        return store_by_reader(r, option, name, value);
    default:
        *(const char **)place(r, option->place) = value;
        return true;
    }
}

/* Refuses "-" where it stands for no stream. */
static bool check_stream(const reading *r, const firn_option *option, const char *name, const char *value) {
    const bool refused = option->names == FIRN_NAMES_FILE || option->names == FIRN_NAMES_FOLDER;
    if (!refused || strcmp(value, "-") != 0)
        return true;
    return firn_say(r->manual, r->command->name,
                    "%s: takes no standard input or output; write the name of a %s, ./- for one that is called so",
                    name, option->names == FIRN_NAMES_FILE ? "file" : "folder");
}

/* --- words -------------------------------------------------------------------------------------------------------- */

/* Whether a word is a name of the list but for a typing mistake. */
static bool is_mistyped(const char *word, const char *const *names) {
    size_t rank;
    return firn_nearest(word, names, &rank) != NULL && rank < FIRN_NEAR_PARTS;
}

/* The name of the option that an unknown one probably means, or NULL. An old name counts only where it is mistyped:
 * synonyms are for what a name means now. */
static const char *option_meant(const firn_command *command, const char *name) {
    const char *names[FIRN_OPTIONS_MAX + 1];
    const firn_option *option;
    uint32_t count = 0;
    while ((option = firn_option_at(command, count)) != NULL)
        names[count++] = option->name;
    names[count] = NULL;
    for (uint32_t i = 0; !is_mistyped(name, names) && (option = firn_option_at(command, i)) != NULL; i++)
        if (option->old != NULL && is_mistyped(name, (const char *const[]){option->old, NULL}))
            return option->name;
    return firn_meant(name, names);
}

static bool refuse_unknown(const reading *r, const char *word) {
    char name[FIRN_WORD_MAX + 1];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    const char *near = option_meant(r->command, name);
    if (firn_option_at(r->command, 0) == NULL)
        return firn_say(r->manual, r->command->name,
                        "%s: unknown option; %s has no options: leave it out, or write -- in "
                        "front of a name that begins so",
                        word, r->command->name);
    if (near != NULL)
        return firn_say(r->manual, r->command->name, "%s: unknown option; did you mean %s?", word, near);
    return firn_say(r->manual, r->command->name, "%s: unknown option; `%s help %s` lists the options", word,
                    r->manual->program, r->command->name);
}

/* Reads the option at words[*at] and its value; advances *at past them. */
static bool read_option(reading *r, int count, char **words, int *at) {
    const char *word = words[(*at)++], *value, *command = r->command->name;
    bool old;
    const uint32_t position = firn_option_find(r->command, word, &value, &old);
    if (position == FIRN_OPTIONS_MAX)
        return refuse_unknown(r, word);
    const firn_option *option = firn_option_at(r->command, position);
    char name[FIRN_WORD_MAX + 1];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    if (option->kind == FIRN_OPTION_FLAG && value != NULL)
        return firn_say(r->manual, command, "%s: takes no value; leave out =%s", name, value);
    if (option->kind != FIRN_OPTION_FLAG && value == NULL) {
        if (*at == count)
            return firn_say(r->manual, command, "%s: its value is missing; write %s %s", name, name, option->value);
        value = words[(*at)++];
    }
    if (option->kind != FIRN_OPTION_FLAG && option->kind != FIRN_OPTION_LIST && r->times[position] > 0)
        return firn_say(r->manual, command, "%s: is given twice; leave one out", name);
    if (option->kind != FIRN_OPTION_FLAG && option->kind != FIRN_OPTION_ANY_TEXT && *value == '\0')
        return firn_say(r->manual, command, "%s: its value is empty; write %s %s, or leave it out", name, name,
                        option->value);
    if (value != NULL && !check_stream(r, option, name, value))
        return false;
    r->times[position]++;
    r->by_old[position] = r->by_old[position] || old;
    if (option->given != 0)
        *(bool *)place(r, option->given) = true;
    return store(r, option, name, value);
}

/* Reads an operand. *read counts them; words[0] to words[*read - 1] are those before this one. */
static bool read_operand(const reading *r, char **words, uint32_t *read, char *word) {
    const firn_option *operand = &r->command->operand;
    const char *command = r->command->name;
    const bool many = operand->kind == FIRN_OPTION_LIST || operand->kind == FIRN_OPTION_WORDS;
    if (operand->value == NULL)
        return firn_say(r->manual, command, "%s: one word too many; leave it out", word);
    if (*word == '\0')
        return firn_say(r->manual, command, "an empty name in place of a %s; write a name", operand->value);
    if (!many && *read > 0)
        return firn_say(r->manual, command, "%s: one word too many, the %s is %s; leave it out", word, operand->value,
                        words[0]);
    if (!check_stream(r, operand, operand->value, word))
        return false;
    words[(*read)++] = word; /* its place has been read */
    if (operand->kind == FIRN_OPTION_WORDS) {
        *(const char *const **)place(r, operand->place) = (const char *const *)words;
        *(uint32_t *)place(r, operand->count) = *read;
        return true;
    }
    return store(r, operand, operand->value, word);
}

static bool is_given(const reading *r, const char *name) {
    const firn_option *option;
    for (uint32_t i = 0; name != NULL && (option = firn_option_at(r->command, i)) != NULL; i++)
        if (strcmp(option->name, name) == 0 && r->times[i] > 0)
            return true;
    return false;
}

/* Refuses a command line without what the command requires. */
static bool check_needed(const reading *r, uint32_t operands) {
    const firn_option *operand = &r->command->operand, *option;
    if (operand->value != NULL && operand->least > operands && !is_given(r, operand->unless)) {
        firn_options_refuse(r->manual, r->command->name, "needs a ", operand->value);
        return false;
    }
    for (uint32_t i = 0; (option = firn_option_at(r->command, i)) != NULL; i++)
        if (firn_is_of(option->needed, r->command) && r->times[i] == 0) {
            char text[LISTED_BYTES];
            snprintf(text, sizeof text, "needs %s %s%s%s", option->name, option->value,
                     option->what != NULL ? ", " : "", option->what != NULL ? option->what : "");
            firn_options_refuse(r->manual, r->command->name, text, "");
            return false;
        }
    return true;
}

/* Notes each old name that was used. */
static void note_old_names(const reading *r) {
    const firn_option *option;
    for (uint32_t i = 0; !is_given(r, "--quiet") && (option = firn_option_at(r->command, i)) != NULL; i++)
        if (r->by_old[i])
            firn_say(r->manual, r->command->name, "note: %s is called %s now; the old name works as before",
                     option->old, option->name);
}

bool firn_options_read(const firn_manual *manual, const firn_command *command, int count, char **words, void *request) {
    reading r = {.manual = manual, .command = command, .request = request};
    uint32_t operands = 0;
    bool ended = false;
    for (int at = 0; at < count;) {
        if (!ended && strcmp(words[at], "--") == 0) {
            ended = true;
            at++;
        } else if (!ended && firn_is_option(words[at])) {
            if (!read_option(&r, count, words, &at))
                return false;
        } else if (!read_operand(&r, words, &operands, words[at++])) {
            return false;
        }
    }
    if (!check_needed(&r, operands))
        return false;
    note_old_names(&r);
    return true;
}
