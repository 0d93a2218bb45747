/*
 * The protocol between llmsbx and llmsbx-guest, both ends: frames and messages, no I/O.
 *
 * A frame is a header of 12 bytes and a payload, little endian:
 *
 *     u32 length of the payload   u8 type   u8 stream   u16 0   u32 request
 *
 * Rules, checked by both sides; a peer that breaks one is not spoken to any more:
 *   - HELLO (guest) and SETUP (host) are each side's first frame, both of the same version and guest digest;
 *   - the host numbers requests from 1 upwards, the guest (streams it opens for egress) from SBX_WIRE_GUEST_ID upwards;
 *   - a stream's sender may have SBX_WIRE_WINDOW bytes under way; CREDIT gives back what was consumed, so that a slow
 *     reader never stops a control frame;
 *   - a guest has one program, one PUT and one GET at a time;
 *   - a request is over with END or DONE; frames that cross with it on the way are dropped by the host's request table.
 *
 * A run, with the frames of the host on the left:
 *
 *     SETUP                         HELLO
 *     PUT DATA.. EOF                DONE
 *     ARGV.. ENV.. SPAWN(hold)      CONFINED   the child is confined, has measured itself, and waits
 *     GO                            STARTED
 *     DATA.. EOF (stdin)            DATA.. (stdout, stderr) LIMIT CREDIT
 *                                   END
 *     GET                           ENTRY DATA.. EOF ... DONE
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/guest/facts.h"

enum {
	SBX_WIRE_VERSION = 1,
	SBX_WIRE_HEADER = 12,
	/* One string of an argument vector is at most MAX_ARG_STRLEN (128 KiB) for the kernel. */
	SBX_WIRE_PAYLOAD_MAX = 132 << 10,
	SBX_WIRE_DATA_MAX = 64 << 10,
	SBX_WIRE_WINDOW = 512 << 10,
	SBX_WIRE_STREAMS = 4,
	SBX_WIRE_LIST_MAX = 64,
};
#define SBX_WIRE_GUEST_ID 0x80000000u

enum sbx_wire_stream {
	SBX_WIRE_STDIN = 0,  /* also what PUT carries */
	SBX_WIRE_STDOUT = 1, /* also what GET carries */
	SBX_WIRE_STDERR = 2,
};

enum sbx_wire_type {
	/* host to guest */
	SBX_WIRE_SETUP = 1,
	SBX_WIRE_ARGV,  /* strings: more of the request's argument vector */
	SBX_WIRE_ENV,   /* strings: more of its environment */
	SBX_WIRE_SPAWN, /* sbx_wire_spawn */
	SBX_WIRE_GO,
	SBX_WIRE_KILL,   /* u32: a signal for the program's group, 0 ends the whole tree */
	SBX_WIRE_RESIZE, /* sbx_wire_resize */
	SBX_WIRE_PUT,    /* sbx_wire_put */
	SBX_WIRE_MARK, /* sbx_wire_get: remember what it names, so that such a GET can tell what changed */
	SBX_WIRE_GET, /* sbx_wire_get */
	/* both ways */
	SBX_WIRE_DATA = 32,
	SBX_WIRE_EOF, /* u32 errno, 0: all there was; for stdin from the guest: no more is wanted */
	SBX_WIRE_CREDIT, /* u32 bytes */
	/* guest to host */
	SBX_WIRE_HELLO = 64,
	SBX_WIRE_CONFINED, /* sbx_facts */
	SBX_WIRE_STARTED,
	SBX_WIRE_LIMIT, /* sbx_wire_limit */
	SBX_WIRE_ENTRY, /* sbx_wire_entry */
	SBX_WIRE_DONE,  /* sbx_wire_done */
	SBX_WIRE_END,   /* sbx_wire_end */
};

struct sbx_frame {
	uint8_t type, stream;
	uint32_t req;
	const uint8_t *p; /* the payload, borrowed */
	uint32_t n;
};

void sbx_wire_header(uint8_t out[SBX_WIRE_HEADER], const struct sbx_frame *f);

/*
 * The first frame of n bytes: its whole length, 0 when more bytes are needed, -1 when this can never be a frame (the peer is
 * broken or hostile).
 */
long sbx_wire_parse(const uint8_t *p, size_t n, struct sbx_frame *ret);

/*
 * Messages.  One function a message serves both directions: a coder is an encoder into p[cap], or a decoder of p[n].  Errors
 * stick; sbx_coder_ok() is true when nothing overflowed and, decoding, every byte was used.  Decoded strings are borrowed
 * from the payload and NUL-terminated; a NUL inside one is an error.
 */
struct sbx_coder {
	uint8_t *out;      /* encoding */
	const uint8_t *in; /* decoding */
	size_t at, end;
	bool bad;
};
struct sbx_coder sbx_encoder(uint8_t *p, size_t cap);
struct sbx_coder sbx_decoder(const uint8_t *p, size_t n);
bool sbx_coder_ok(const struct sbx_coder *c);

void sbx_code_u8(struct sbx_coder *c, uint8_t *v);
void sbx_code_u32(struct sbx_coder *c, uint32_t *v);
void sbx_code_u64(struct sbx_coder *c, uint64_t *v);
void sbx_code_str(struct sbx_coder *c, const char **s);

struct sbx_wire_setup {
	uint32_t version;
	const char *digest;
	uint32_t uid, gid;                   /* of the program */
	uint8_t one_id;                      /* guest and program share their id */
	uint8_t limit_memory, limit_pids;    /* the guest bounds them, since no cgroup does */
	uint64_t memory_bytes, pids, nofile; /* UINT64_MAX: no limit */
	const char *workdir;
	uint32_t n_writable; /* folders that stay writable under Landlock */
	const char *writable[SBX_WIRE_LIST_MAX];
	/* Where no namespace holds the program: */
	uint32_t n_readable; /* what else it may read and execute */
	const char *readable[SBX_WIRE_LIST_MAX];
	uint64_t disk_bytes; /* of a file, and of all together */
};
void sbx_code_setup(struct sbx_coder *c, struct sbx_wire_setup *m);

struct sbx_wire_hello {
	uint32_t version;
	const char *digest;
};
void sbx_code_hello(struct sbx_coder *c, struct sbx_wire_hello *m);

enum sbx_wire_spawn_flag {
	SBX_WIRE_SPAWN_TTY = 1 << 0,
};
struct sbx_wire_spawn {
	uint32_t flags;
	uint64_t timeout_ms, cpu_time_ms; /* UINT64_MAX: none */
	uint64_t max_output, kill_output; /* a stream: kept, and where the program is ended */
	uint32_t rows, cols;
	const char *cwd;
};
void sbx_code_spawn(struct sbx_coder *c, struct sbx_wire_spawn *m);

struct sbx_wire_resize {
	uint32_t rows, cols;
};
void sbx_code_resize(struct sbx_coder *c, struct sbx_wire_resize *m);

struct sbx_wire_put {
	const char *path; /* relative to the work directory; folders in between are made */
	uint32_t mode;    /* permission bits */
};
void sbx_code_put(struct sbx_coder *c, struct sbx_wire_put *m);

struct sbx_wire_get {
	uint32_t max_files, max_depth;
	uint64_t
		max_bytes; /* of all files together; one that is larger than what is left is an entry without data */
	uint32_t n_globs;
	const char *globs[SBX_WIRE_LIST_MAX];
};
void sbx_code_get(struct sbx_coder *c, struct sbx_wire_get *m);

enum sbx_wire_kind {
	SBX_WIRE_KIND_FILE = 1, /* data follows on stream 1, then EOF */
	SBX_WIRE_KIND_BIG, /* no room for it in max_bytes: no data follows, as for those below */
	SBX_WIRE_KIND_SYMLINK,
	SBX_WIRE_KIND_PIPE,
	SBX_WIRE_KIND_SOCKET,
	SBX_WIRE_KIND_DEVICE,
	SBX_WIRE_KIND_UNREADABLE, /* also a folder in which there might be what was asked for */
};
/* Entries come in the order of their paths, taken component by component as bytes: so none can come twice. */
struct sbx_wire_entry {
	uint8_t kind, modified; /* modified: it was there at MARK, else it is new */
	uint32_t mode;
	uint64_t size; /* at most so many bytes of data follow */
	const char *path;
};
void sbx_code_entry(struct sbx_coder *c, struct sbx_wire_entry *m);

enum sbx_wire_more {
	SBX_WIRE_MORE_FILES = 1 << 0, /* there were more than max_files */
	SBX_WIRE_MORE_DEPTH = 1 << 1, /* folders deeper than max_depth were not looked into */
};
struct sbx_wire_done {
	uint32_t sys;     /* errno, 0: done */
	uint32_t more;    /* of enum sbx_wire_more */
	const char *what; /* what failed */
};
void sbx_code_done(struct sbx_coder *c, struct sbx_wire_done *m);

struct sbx_wire_limit {
	uint8_t stream; /* output of stream 1 or 2 */
	uint64_t value;
};
void sbx_code_limit(struct sbx_coder *c, struct sbx_wire_limit *m);

enum sbx_wire_how {
	SBX_WIRE_EXITED = 1,
	SBX_WIRE_SIGNALED,
	SBX_WIRE_TIMEOUT,
	SBX_WIRE_CPU_TIMEOUT,
	SBX_WIRE_OOM,    /* the guest's own bound, where no cgroup has one */
	SBX_WIRE_OUTPUT, /* more than kill_output */
	SBX_WIRE_KILLED, /* the host asked for it */
	SBX_WIRE_DISK,   /* the guest's own bound, where no file system has one */
	SBX_WIRE_FAILED, /* it never ran: step and sys say why */
};
enum sbx_wire_scratch {
	SBX_WIRE_WORKDIR,
	SBX_WIRE_TMP,
	SBX_WIRE_SHM,
};
struct sbx_wire_end {
	uint8_t how;
	uint32_t code; /* exit code, or signal */
	uint32_t sys;
	const char *step;
	uint8_t full;      /* 1 << enum sbx_wire_scratch of each that had no room left at the end */
	uint64_t bytes[2]; /* all that was written to stdout and stderr */
	uint64_t cpu_user_ns, cpu_sys_ns, maxrss_bytes; /* of all processes that ended */
	uint64_t exec_ns, drain_ns;
};
void sbx_code_end(struct sbx_coder *c, struct sbx_wire_end *m);

void sbx_code_facts(struct sbx_coder *c, struct sbx_facts *m);
