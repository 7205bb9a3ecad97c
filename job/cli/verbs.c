/* verbs.c - the table of verbs. See verbs.h */
#include "job/cli/verbs.h"

#include "base/nearest.h"

#include <stdio.h>

static const struct verb run = {
    .name = "run",
    .arguments = "[OPTIONS] ( JOB.sql | -e 'STATEMENTS' )",
    .summary = "Runs the jobs of a SQL script in this process and waits for their end.",
    .details = "Statements run in order and the script stops at the first error. A progress line "
               "goes to stderr, a report\n"
               "follows at the end. A REST server on rest.bind-address:rest.port answers varve "
               "list, stop, savepoint,\n"
               "checkpoint and cancel from elsewhere.\n"
               "\n"
               "Ctrl-C cancels (execution.checkpointing.externalized-checkpoint-retention decides "
               "what is kept); SIGTERM\n"
               "suspends: nothing is committed or deleted, and the command that resumes is "
               "printed. JOB.sql may be - for\n"
               "standard input.\n"
               "\n"
               "Exit codes: 0 all jobs finished (or were suspended), 1 a job failed or was "
               "cancelled, 2 a mistake in the SQL,\n"
               "the configuration or the arguments, 3 disk, network or port.",
    .log_level = LOG_WARN,
    .run = verb_run,
};
static const struct verb sql = {
    .name = "sql",
    .arguments = "[-f FILE | -e STATEMENTS] [-m HOST:PORT]",
    .summary = "SQL client: interactive, or the statements of a file.",
    .details = "Without -m the statements run in this process; with -m in a varve serve. A "
               "statement ends with a semicolon. With\n"
               "-f or -e the client stops at the first error (exit 1); an embedded client then "
               "waits for the jobs it started.",
    .log_level = LOG_WARN,
    .run = verb_sql,
};
static const struct verb serve = {
    .name = "serve",
    .arguments = "[OPTIONS]",
    .summary = "Keeps several jobs: REST, a web page, metrics and SQL sessions on "
               "rest.bind-address:rest.port.",
    .details = "Jobs come in through varve sql -m or the SQL gateway's REST calls. SIGTERM and "
               "Ctrl-C suspend all jobs.",
    .log_level = LOG_INFO,
    .run = verb_serve,
};
static const struct verb list = {
    .name = "list",
    .arguments = "[-r | -s | -a] [-m HOST:PORT]",
    .summary = "Jobs of a running varve run or varve serve.",
    .details = "",
    .log_level = LOG_WARN,
    .run = verb_list,
};
static const struct verb stop = {
    .name = "stop",
    .arguments = "[-p DIR] [-d] JOB [-m HOST:PORT]",
    .summary = "Stops a job with a savepoint.",
    .details = "",
    .log_level = LOG_WARN,
    .run = verb_stop,
};
static const struct verb savepoint = {
    .name = "savepoint",
    .arguments = "( JOB [DIR] | -d PATH ) [-m HOST:PORT]",
    .summary = "Takes a savepoint of a running job, or disposes of one.",
    .details = "",
    .log_level = LOG_WARN,
    .run = verb_savepoint,
};
static const struct verb checkpoint = {
    .name = "checkpoint",
    .arguments = "JOB [-m HOST:PORT]",
    .summary = "Takes a checkpoint of a running job now.",
    .details = "",
    .log_level = LOG_WARN,
    .run = verb_checkpoint,
};
static const struct verb cancel = {
    .name = "cancel",
    .arguments = "JOB [-m HOST:PORT]",
    .summary = "Cancels a job without a savepoint.",
    .details = "",
    .log_level = LOG_WARN,
    .run = verb_cancel,
};
static const struct verb inspect = {
    .name = "inspect",
    .arguments = "PATH [--files] [--digests] [--json | --html FILE | --mapping [--job JOB.sql]]",
    .summary = "What a _metadata, checkpoint, savepoint, job directory or root of several holds.",
    .details = "Exit code 1: something in it is damaged and can't be restored.",
    .log_level = LOG_WARN,
    .run = verb_inspect,
};
static const struct verb orphans = {
    .name = "orphans",
    .arguments = "PATH [--min-age 1h] [--delete]",
    .summary = "Files of a job directory, savepoint or root that no _metadata names.",
    .details =
        "Listed is only what was last changed before --min-age, under names that varve makes; "
        "nothing of a running job,\n"
        "and no shared file while a _metadata that may name it can't be read. --delete removes "
        "what is listed, and\n"
        "nothing of a job whose _metadata can't all be read (exit code 1).",
    .log_level = LOG_WARN,
    .run = verb_orphans,
};
static const struct verb verify = {
    .name = "verify",
    .arguments = "PATH [--deep] [--json]",
    .summary = "Proves every byte that a restore from the snapshots at a path would use.",
    .details = "PATH is a _metadata, a checkpoint, a savepoint, a job's directory or a root of "
               "several. Each _metadata and each\n"
               "file that one names is read and compared with its recorded length and digest; a "
               "file that several share is\n"
               "read once. All faults are listed, with the snapshots that share them and the "
               "newest clean checkpoint. Nothing\n"
               "is written or locked. --deep opens each database as well: every block against "
               "RocksDB's own checksum, keys in order\n"
               "and in their key groups, entries as many as recorded.\n"
               "\n"
               "Exit codes: 0 all is well, 1 something is damaged (checkpoints that never "
               "completed are not, unless PATH is\n"
               "one), 2 there is nothing of varve's at PATH.",
    .log_level = LOG_WARN,
    .run = verb_verify,
};
static const struct verb du = {
    .name = "du",
    .arguments = "PATH [--states] [--json]",
    .summary = "Bytes of checkpoints, exclusive and shared, and what deleting each would free.",
    .details = "PATH is a _metadata, a checkpoint, a savepoint, a job's directory or a root of "
               "several. Bytes are counted by inode: a\n"
               "file with several names is there once. Exit code 1: a _metadata can't be read, so "
               "that what it names is not known.",
    .log_level = LOG_WARN,
    .run = verb_du,
};
static const struct verb diff = {
    .name = "diff",
    .arguments = "A B [--files | --state] [--json]",
    .summary = "What one snapshot has that another has not: files and bytes added, dropped, kept.",
    .details = "A and B are a _metadata, a checkpoint or a savepoint each. Contents are told apart "
               "by length and digest, not by\n"
               "name: what B links or copies from A is kept. With --state all keyed state of both is "
               "read, proven, and compared key\n"
               "by key. Exit code 0 also when they differ.",
    .log_level = LOG_WARN,
    .run = verb_diff,
};
static const struct verb state = {
    .name = "state",
    .arguments = "PATH [--operator UID] [--name STATE] [--key KEY | --key-group G] [--limit N]",
    .summary = "Keys and values of a checkpoint or savepoint, by their SQL types.",
    .details = "Without --name: which states there are, with types, entries and bytes (of a rocksdb "
               "state estimated; --count reads\n"
               "them all). With it, or with a key, key group or limit where there is one keyed "
               "state alone: the entries, in order of\n"
               "their key groups and keys. A key is given as text, one of several columns as a "
               "JSON array: --key '[\"a\", 3]'. PATH of\n"
               "several snapshots: the newest one that verifies. Snapshots that Flink wrote are read "
               "as well, by its serializers.\n"
               "\n"
               "Nothing of the snapshot is changed or copied; databases are opened through links "
               "in $TMPDIR, in a process of\n"
               "their own. Files are proven by their digests before they are scanned.\n"
               "\n"
               "Exit codes: 0 done, 1 something is damaged, 2 there is no such state or path.",
    .log_level = LOG_WARN,
    .run = verb_state,
};
static const struct verb export = {
    .name = "export",
    .arguments = "PATH DIR --to varve|flink-savepoint|flink-native [--max-parallelism N]",
    .summary = "Copies a snapshot into one directory that needs nothing else and can be moved.",
    .details = "DIR is made, or empty, and is a savepoint afterwards: every file of the checkpoint or "
               "savepoint at PATH is copied,\n"
               "proven by its digest, and shares nothing with where it came from. It appears as a "
               "whole: a DIR without a\n"
               "_metadata is what an export left that did not end; delete it.\n"
               "\n"
               "With --to flink-savepoint it is a canonical savepoint of Flink's, of a snapshot that "
               "Flink wrote in any form,\n"
               "or of varve's own: keyed state under Flink's serializers of its SQL types. With --to "
               "flink-native it is a native\n"
               "savepoint of a Flink snapshot whose keyed state is files of databases: they are copied (with\n"
               "--link: hard-linked, where the file system can) and proven. Either leaves out operators "
               "(--drop) and gives\n"
               "others a new uid (--rename).\n"
               "\n"
               "With --max-parallelism keyed state (of Flink's snapshots, too) is read and written anew, "
               "each key in the group that it has among N; state\n"
               "without keys stays as it is.\n"
               "\n"
               "Exit codes: 0 done, 1 the snapshot is damaged, 2 DIR is not empty, or that can't be "
               "done, 3 disk.",
    .log_level = LOG_WARN,
    .run = verb_export,
};

const struct verb *const cli_verbs[] = {
    &run,     &sql,     &serve,  &list, &stop, &savepoint, &checkpoint, &cancel,
    &inspect, &orphans, &verify, &du,   &diff, &state,     &export,     NULL};

const struct verb *cli_find_verb(const char *name)
{
    for (size_t i = 0; cli_verbs[i] != NULL; i++)
        if (strcmp(cli_verbs[i]->name, name) == 0)
            return cli_verbs[i];
    return NULL;
}

const char *cli_nearest_verb(const char *name)
{
    const char *names[ARRAY_LEN(cli_verbs) + 2];
    size_t count = 0;

    for (size_t i = 0; cli_verbs[i] != NULL; i++)
        names[count++] = cli_verbs[i]->name;
    names[count++] = "help";
    return nearest_of(name, names, count);
}

void cli_print_usage(const struct cli *cli, bool to_stdout)
{
    FILE *f = to_stdout ? stdout : stderr;

    (void)cli;
    fprintf(f, "varve: keyed stream jobs with checkpoints that can be looked into\n\n"
               "usage: varve VERB [OPTIONS]\n\n");
    for (size_t i = 0; cli_verbs[i] != NULL; i++)
        fprintf(f, "  %-11s %s\n", cli_verbs[i]->name, cli_verbs[i]->summary);
    fprintf(f,
            "  %-11s %s\n\n"
            "varve help VERB tells about one of them; varve --version says which varve this is.\n",
            "help", "this text, or that of a verb");
}
