/* What is asked of a sandbox.  Built only from checked options; every backend reads the same. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/clock.h"
#include "lib/base/strv.h"

struct sbx_err;

/* SBX_UNLIMITED lifts a limit. */
struct sbx_limits {
	uint64_t memory_bytes; /* of the whole sandbox, without swap */
	uint64_t cpu_milli;    /* thousandths of a processor */
	uint64_t pids;         /* processes and threads of the program, the guest not counted */
	uint64_t disk_bytes;   /* /sandbox */
	uint64_t tmp_bytes;    /* /tmp */
	uint64_t shm_bytes;    /* /dev/shm */
	uint64_t nofile;       /* descriptors a process */
	bool disk_explicit;    /* --disk was given */
};

struct sbx_mount {
	char *host, *dest; /* owned; absolute */
	bool writable;
};

enum sbx_network {
	SBX_NET_NONE, /* loopback only */
	SBX_NET_FULL,
};

/* What may end the making of a sandbox: woken is called when fd is readable, and -1 with *err is then how create ends. */
struct sbx_wake {
	int fd;
	int (*woken)(void *ctx, struct sbx_err *err);
	void *ctx;
};

struct sbx_box_spec {
	const char *name;    /* of lib/proc/owner.h: what gc knows crash leftovers by */
	const char *workdir; /* inside; default /sandbox */
	const char *hostname;
	struct sbx_limits limits;
	enum sbx_network network;
	const struct sbx_mount *mounts;
	size_t n_mounts;
	const struct sbx_strv *
		host_paths; /* globs below /etc, /opt, /nix/store the language needs; may be NULL */
	uid_t uid;          /* of the program, inside; default 65532 */
	gid_t gid;
	bool read_only;              /* the root; default true */
	bool accept_bare;            /* where namespaces are forbidden, without any */
	const struct sbx_wake *wake; /* NULL: nothing ends it early */
};

/* Where no namespace gives a sandbox places and ids of its own: those of the host that it has. */
struct sbx_box_bare {
	char *workdir, *tmp;      /* owned */
	struct sbx_strv readable; /* what else of the host may be read */
	uid_t uid;
	gid_t gid;
	uint64_t pids_beside; /* processes of others that count for the same limit */
};
