/*
 * One run: place the code, compile, execute, collect, end.  `run`, each job of --jobs and each session cell are this.
 *
 * A request is plain data with one owner; sbx_request_release frees what it owns.  Defaults are set by sbx_request_init, options
 * of the command line, variables, the configuration and the keys of a job all go through sbx_request_set(), so that a name means
 * the same everywhere.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/backend/spec.h"
#include "lib/base/buf.h"
#include "lib/base/strv.h"
#include "lib/def/lang.h"
#include "lib/event/event.h"

struct sbx_backend;
struct sbx_ready;

/* A file that is put in before the program starts. */
struct sbx_file_in {
	char *host; /* owned; NULL: data is the content */
	char *dest; /* owned; relative to the work directory, checked: no .., not absolute */
	struct sbx_buf data; /* owned */
	unsigned int mode;   /* 0: the host file's permission bits, or 0644 */
};

enum sbx_stdin_kind {
	SBX_STDIN_EMPTY, /* end of file at once */
	SBX_STDIN_FD,    /* read from stdin_fd, borrowed */
	SBX_STDIN_BYTES, /* stdin_bytes */
};

struct sbx_request {
	char *id;      /* owned; of the events; made up when NULL */
	char *backend; /* owned; "local" */
	char *lang;    /* owned; as asked for, or NULL */
	char *lang_default; /* owned; of code that does not say: a setting, share/config.json has it; or NULL */

	/* The code: exactly one of these ways. */
	bool has_code;
	struct sbx_buf code; /* from stdin, -c or a job's `code` */
	char *code_path;     /* owned; FILE: read at start; its basename is kept inside */

	struct sbx_strv args;
	enum sbx_stdin_kind stdin_kind;
	int stdin_fd;
	struct sbx_buf stdin_bytes;

	struct sbx_strv env; /* NAME=value */
	struct sbx_file_in *files;
	size_t n_files, cap_files;
	struct sbx_mount *mounts;
	size_t n_mounts, cap_mounts;
	struct sbx_strv out; /* globs */
	char *out_dir;       /* owned; "." by default */

	char *workdir; /* owned */
	struct sbx_limits limits;
	uint64_t timeout_ns;  /* wall; SBX_UNLIMITED */
	uint64_t cpu_time_ns; /* of the whole tree; SBX_UNLIMITED */
	uint64_t max_output;  /* per stream */
	enum sbx_network network;
	uid_t uid;
	gid_t gid;
	bool read_only;
	bool tty;
	uint32_t require_bits, accept_bits; /* 1 << enum sbx_control */
	struct sbx_strv
		warnings; /* `warn` events to come first: code, message, code, message, ... */
};

void sbx_request_init(struct sbx_request *req);
void sbx_request_release(struct sbx_request *req);
/* A deep copy of what the defaults of --jobs hold. */
int sbx_request_copy(const struct sbx_request *from, struct sbx_request *ret,
		     struct sbx_err *err) SBX_MUST_USE;

/*
 * Sets the option called name ("timeout", "max_output", "env"; dashes and underscores alike) from text as it stands on the command
 * line; repeatable ones add.  where names the place in messages ("--timeout", "LLMSBX_TIMEOUT", "config.json: timeout").
 * SBX_E_NOT_FOUND for a name that no option has; SBX_E_USAGE for a value that it cannot have.  Scratch sizes that were not given
 * follow the memory: --disk a quarter of it, /tmp and /dev/shm an eighth each.
 */
int sbx_request_set(struct sbx_request *req, const char *name, struct sbx_str value,
		    const char *where, struct sbx_err *err) SBX_MUST_USE;

/* A further file to put in, zeroed but for the ceiling of its data; NULL with SBX_E_LIMIT when there are too many. */
struct sbx_file_in *sbx_request_new_file(struct sbx_request *req, struct sbx_err *err) SBX_MUST_USE;

/* Whether two spellings are one option: dashes and underscores are the same. */
bool sbx_option_same(const char *a, const char *b);

/* The value of a switch: true 1 yes, false 0 no; else SBX_E_USAGE. */
int sbx_option_bool(const char *value, const char *where, bool *ret,
		    struct sbx_err *err) SBX_MUST_USE;

/* What a run leaves behind for its caller. */
struct sbx_result {
	enum sbx_outcome outcome;
	int status;       /* for the shell */
	int cancelled_by; /* the signal that cancelled it, or 0 */
	bool hurried;     /* by a second one: no reader is waited for */
};

/* What timeout(1) sends to its child and then to the group of both is one signal. */
#define SBX_ONE_SIGNAL_NS 200000000u

/* Descriptors that events go to: stdout, stderr, --events-fd. */
enum { SBX_RUN_OUTS = 3 };

/* Everything a run needs that is not the request's. */
struct sbx_run_env {
	struct sbx_backend *backend; /* borrowed */
	struct sbx_langs *langs;     /* borrowed */
	struct sbx_sink *sink;       /* borrowed */
	struct sbx_out
		*outs[SBX_RUN_OUTS +
		      1];  /* borrowed: what the sink writes to, polled for room; NULL-terminated */
	int signal_fd;     /* signalfd of INT, TERM, HUP, WINCH (and PIPE), or -1 */
	uint64_t start_ns; /* of llmsbx */
	uint64_t queued_ns;      /* when the run was asked for */
	struct sbx_ready *ready; /* a box made ahead, taken when it fits (box.h), or NULL */
};

/*
 * Runs it.  Whatever happens, exactly one `end` was put and *ret is filled when this returns 0; -1 only when the events themselves
 * could not be written (SBX_E_OUTPUT), after the sandbox was ended.
 */
int sbx_run(const struct sbx_run_env *env, struct sbx_request *req, struct sbx_result *ret,
	    struct sbx_err *err) SBX_MUST_USE;

/* A new run's id, owned. */
char *sbx_run_id(void);

/* --dry-run: one JSON object that says what would be sent to the backend; nothing is started. */
int sbx_run_plan(const struct sbx_run_env *env, struct sbx_request *req, struct sbx_buf *out,
		 struct sbx_err *err) SBX_MUST_USE;
