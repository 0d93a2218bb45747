/*
 * The embedded backend: a sandbox of this machine's own kernel, without a daemon, an image or a temporary folder.
 *
 * Theory of operation
 *
 * There are two processes, the caller's (here "the parent") and the first one of the sandbox ("the child", lib/local/child.c), and
 * three steps that they must take in turn:
 *
 *      parent                                      child, in new namespaces
 *      ------                                      ------------------------
 *      ids: a slot of two host ids  (ids.c)
 *      cgroup: made, limits set     (cgroup.c)
 *      a large --disk: its folder   (scratch.c)
 *      roots' and mounts' plan      (root-plan.c)
 *      clone3                       (ns.c)         dies with its parent; own session
 *      writes the id maps           (idmap.c)      takes copies of the host's mounts, with the caller's rights
 *          root: two writes; a user: newuidmap     loopback, hostname
 *          and newgidmap side by side
 *      'm' on the channel ------------------------> becomes 0 inside
 *      v1: moves the child into its cgroups        builds the root, pivots      (root.c)
 *      no cgroup: binds it to processors
 *      'g' on the channel ------------------------> cgroup namespace; descriptors; one id: renames it; capabilities
 *      waits for the status pipe's end <----------- "ready" on the status pipe, then exec of the guest, which closes it
 *
 * The channel is a socket pair: what is not one of these two bytes on it is the guest's protocol.  If anything fails in the child it
 * writes its struct sbx_err to the status pipe instead, and that is the error of create; a pipe that ends without a word is a child
 * that was killed.
 *
 * What must not be reordered, and why:
 *   - The cgroup before clone3 (v2 clones into it); the moves of v1 after it, and before the guest runs.  A move waits 10 to 16 ms for
 *     the kernel (RCU); the child mounts meanwhile, so on v1 a start costs the longer of both, not their sum.
 *   - Host mounts are opened before the ids change: a folder below a home of mode 0700 is the caller's to read, not the sandbox's.
 *     Where the caller is root the parent opens them: in its own namespace a root without mapped ids reads no such home.
 *   - No tmpfs before the maps: its files would have owners that the namespace does not know (EOVERFLOW).
 *   - The cgroup namespace after the moves: it hides what is above the cgroup that the process is in when it is made.
 *   - Everything that needs a capability before they are dropped, which is last.
 *
 * Who ends whom: SIGKILL to process 1 ends all in the pid namespace.  The child has PR_SET_PDEATHSIG until it is the guest and keeps
 * it, and the guest ends at the end of its channel: a parent that is killed at any moment leaves nothing that runs.  What it may leave
 * is empty cgroups, named after it, and a work directory on disk; the next create, or sweep, removes them (sweep.c, scratch.c).
 *
 * Trust: nothing that the child says after exec is believed here; what it says before is our own code's.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/backend/backend.h"
#include "lib/backend/list.h"
#include "lib/base/err.h"
#include "lib/base/fd.h"
#include "lib/base/log.h"
#include "lib/base/mem.h"
#include "lib/guest/image.h"
#include "lib/json/write.h"
#include "lib/local/bare.h"
#include "lib/local/cgroup.h"
#include "lib/local/child.h"
#include "lib/local/host.h"
#include "lib/local/idmap.h"
#include "lib/local/ids.h"
#include "lib/local/ns.h"
#include "lib/local/scratch.h"
#include "lib/local/which.h"

/* Of a step that takes some milliseconds: only a file system that does not answer takes so long. */
#define START_NS (UINT64_C(30) * 1000000000)
/* Until process 1 is gone after SIGKILL. */
#define END_NS (UINT64_C(10) * 1000000000)

struct local {
	struct sbx_backend be;
	struct sbx_host host;
	bool looked;   /* host is filled */
	bool prepared; /* pool and cgroups are */
	struct sbx_id_pool pool;
	struct sbx_cgroups *cgroups;
};

struct local_box {
	struct sbx_box box;
	pid_t pid;
	int pidfd; /* box.lost_fd is the same one */
	struct sbx_ids ids;
	struct sbx_cgroup *cgroup;
	struct sbx_scratch *scratch; /* NULL: the work directory is in memory */
	bool is_bare;                /* without namespaces */
	struct sbx_bare bare;
};

static struct local *local_of(struct sbx_backend *be)
{
	return (struct local *)(void *)be;
}

static struct local_box *box_of(struct sbx_box *box)
{
	return (struct local_box *)(void *)box;
}

static int local_open(const char *endpoint, struct sbx_backend **ret, struct sbx_err *err)
{
	struct local *local;

	if (endpoint)
		return sbx_fail(err, SBX_E_USAGE, "the backend 'local' has no endpoint: '%s'",
				endpoint);
	if (sbx_ns_check_kernel(err) < 0)
		return -1;
	local = sbx_new(struct local);
	local->be.ops = &sbx_backend_local;
	*ret = &local->be;
	return 0;
}

static void local_close(struct sbx_backend *be)
{
	struct local *local = local_of(be);

	sbx_id_pool_release(&local->pool);
	sbx_cgroups_close(local->cgroups);
	free(local);
}

/* What is the same for all sandboxes of a process, looked up when the first one needs it. */
static int look(struct local *local, struct sbx_err *err)
{
	if (!local->looked && sbx_host_look(&local->host, err) < 0)
		return -1;
	local->looked = true;
	return 0;
}

static int prepare(struct local *local, struct sbx_err *err)
{
	if (local->prepared)
		return 0;
	if (look(local, err) < 0 || sbx_id_pool_init(&local->pool, err) < 0)
		return -1;
	if (sbx_cgroups_open(&local->cgroups, err) < 0) {
		sbx_id_pool_release(&local->pool);
		return -1;
	}
	local->prepared = true;
	return 0;
}

/* A scope of systemd's is one for a process and its children. */
static int local_prepare(struct sbx_backend *be, struct sbx_err *err)
{
	return prepare(local_of(be), err);
}

/* Binds process 1 to n of the processors that we may use, other ones for each slot of ids.  The whole tree inherits it. */
static void pin(const struct local_box *box, unsigned int n)
{
	unsigned int have, skip;
	cpu_set_t ours, some;

	if (n == 0 || sched_getaffinity(0, sizeof(ours), &ours) < 0)
		return;
	have = (unsigned int)CPU_COUNT(&ours);
	if (n >= have)
		return;
	skip = (box->ids.guest_uid / 2 + (unsigned int)box->pid) % have;
	CPU_ZERO(&some);
	/* Round the set once and a bit more, from the skip-th on. */
	for (unsigned int cpu = 0, seen = 0; seen < skip + n; cpu = (cpu + 1) % CPU_SETSIZE) {
		if (CPU_ISSET(cpu, &ours) && seen++ >= skip)
			CPU_SET(cpu, &some);
	}
	(void)sched_setaffinity(box->pid, sizeof(some), &some);
}

/* The caller's groups, which one id cannot drop, as " 27 1000"; cut where there are many. */
static void name_groups(char *text, size_t size)
{
	gid_t groups[8];
	int n = getgroups(SBX_ARRAY_SIZE(groups), groups);
	size_t len = 0;

	text[0] = '\0';
	if (n < 0)
		(void)snprintf(text, size, " (many)");
	for (int i = 0; i < n && len < size; i++)
		len += (size_t)snprintf(text + len, size - len, " %u", groups[i]);
}

static void user_receipt(const struct local *local, const struct sbx_ids *ids,
			 struct sbx_receipt *receipt)
{
	char groups[64];

	if (ids->kind == SBX_IDS_SINGLE) {
		name_groups(groups, sizeof(groups));
		sbx_receipt_set(receipt, SBX_CTL_USER, SBX_HELD_DEGRADED,
				"the caller's id %u%s%s: %s", ids->uid,
				groups[0] ? " and groups" : "", groups, local->pool.why);
	} else if (ids->callers) {
		sbx_receipt_set(receipt, SBX_CTL_USER, SBX_HELD_DEGRADED,
				"the caller's id %u, for --mount", ids->uid);
	} else {
		sbx_receipt_set(receipt, SBX_CTL_USER, SBX_HELD_ENFORCED, "host id %u", ids->uid);
	}
}

static void disk_receipt(bool on_disk, const struct sbx_limits *limits, struct sbx_receipt *receipt)
{
	if (on_disk)
		sbx_scratch_receipt(receipt);
	else if (limits->disk_bytes != SBX_UNLIMITED)
		sbx_receipt_set(receipt, SBX_CTL_DISK, SBX_HELD_ENFORCED, "tmpfs");
}

static void mounts_receipt(const struct sbx_box_spec *spec, int proc_refused,
			   struct sbx_receipt *receipt)
{
	if (proc_refused != 0)
		sbx_receipt_set(receipt, SBX_CTL_MOUNTS, SBX_HELD_DEGRADED,
				"the host's /proc is seen, since a new one is refused (%s)",
				sbx_strerror(proc_refused));
	else
		sbx_receipt_set(receipt, SBX_CTL_MOUNTS, SBX_HELD_ENFORCED,
				"pivot_root into an allow-list");
	if (spec->read_only)
		sbx_receipt_set(receipt, SBX_CTL_READONLY_ROOT, SBX_HELD_ENFORCED,
				"read-only tmpfs");
	sbx_receipt_set(receipt, SBX_CTL_DEVICES, SBX_HELD_ENFORCED, "a /dev of 12 nodes, nodev");
}

static void fill_receipt(const struct sbx_box_spec *spec, int proc_refused,
			 struct sbx_receipt *receipt)
{
	sbx_receipt_set(receipt, SBX_CTL_NAMESPACES, SBX_HELD_ENFORCED,
			"user mount pid ipc uts net cgroup");
	mounts_receipt(spec, proc_refused, receipt);
	if (spec->network == SBX_NET_NONE)
		sbx_receipt_set(receipt, SBX_CTL_NETWORK, SBX_HELD_ENFORCED,
				"network namespace with loopback only");
	else
		sbx_receipt_set(receipt, SBX_CTL_NETWORK, SBX_HELD_UNSUPPORTED,
				"full is not built yet, so there is loopback only");
}

static void guest_limits(struct local_box *box)
{
	const struct sbx_receipt *receipt = &box->box.receipt;

	box->box.guest_limits_memory = receipt->control[SBX_CTL_MEMORY].held == SBX_HELD_DEGRADED;
	box->box.disk_polled = box->scratch != NULL;
	box->box.guest_limits_pids = receipt->control[SBX_CTL_PIDS].held == SBX_HELD_DEGRADED;
}

/* Waits until fd is readable; -1 when it is not by then. */
static int wait_readable(int fd, uint64_t span_ns)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint64_t deadline = sbx_deadline(span_ns);
	int n;

	do
		n = poll(&p, 1, sbx_poll_ms(deadline));
	while (n < 0 && errno == EINTR);
	return n > 0 ? 0 : -1;
}

/* Until the child speaks, or something else ends our waiting. */
static int wait_child(int status_fd, const struct sbx_wake *wake, uint64_t deadline,
		      struct sbx_err *err)
{
	struct pollfd p[2] = {{.fd = status_fd, .events = POLLIN},
			      {.fd = wake ? wake->fd : -1, .events = POLLIN}};

	do {
		int n = poll(p, SBX_ARRAY_SIZE(p), sbx_poll_ms(deadline));

		if (n == 0)
			return sbx_fail(err, SBX_E_TIMEOUT,
					"the sandbox did not start within 30 s (does a file system "
					"of this machine not answer?)");
		if (n > 0 && wake && p[1].revents && wake->woken(wake->ctx, err) < 0)
			return -1;
	} while (!p[0].revents);
	return 0;
}

/* SIGKILL, and the end of process 1, which is the end of all in it. */
static int end_process(struct local_box *box, struct sbx_err *err)
{
	siginfo_t info;

	if (box->pid <= 0)
		return 0;
	/* Without namespaces it must end the rest before it ends itself. */
	if (box->is_bare) {
		sbx_stream_free(SBX_TAKE(box->box.stream));
		(void)wait_readable(box->pidfd, END_NS);
	}
	(void)syscall(SYS_pidfd_send_signal, box->pidfd, SIGKILL, NULL, 0);
	if (wait_readable(box->pidfd, END_NS) < 0)
		return sbx_fail(err, SBX_E_TIMEOUT,
				"process %d of the sandbox did not end within 10 s of SIGKILL",
				(int)box->pid);
	while (waitid(P_PIDFD, (id_t)box->pidfd, &info, WEXITED) < 0 && errno == EINTR)
		;
	box->pid = 0;
	return 0;
}

/* Frees box whatever of it there is; the first failure is told, the rest is done all the same. */
static int end_box(struct local_box *box, struct sbx_err *err)
{
	struct sbx_err later = SBX_ERR_INIT;
	int result = end_process(box, err);

	sbx_stream_free(box->box.stream);
	if (sbx_cgroup_remove(box->cgroup, result < 0 ? &later : err) < 0)
		result = -1;
	sbx_err_clear(&later);
	if (box->is_bare && sbx_bare_remove(&box->bare, result < 0 ? &later : err) < 0)
		result = -1;
	sbx_err_clear(&later);
	if (sbx_scratch_remove(box->scratch, result < 0 ? &later : err) < 0)
		result = -1;
	sbx_close(box->pidfd);
	sbx_ids_release(&box->ids);
	free(box);
	return result;
}

/*
 * What the child says until it is the guest.  The pipe's end after a "ready" is exec.
 */
static int hear_child(int status_fd, const struct sbx_wake *wake, struct sbx_child_status *status,
		      struct sbx_err *err)
{
	uint64_t deadline = sbx_deadline(START_NS);
	struct sbx_child_status said;
	bool heard = false;

	for (;;) {
		ssize_t n;

		if (wait_child(status_fd, wake, deadline, err) < 0)
			return -1;
		n = read(status_fd, &said, sizeof(said));
		if (n < 0 && errno == EINTR)
			continue;
		if (n != (ssize_t)sizeof(said))
			break;
		*status = said;
		heard = true;
	}
	if (!heard)
		return sbx_fail(err, SBX_E_SYSTEM,
				"the sandbox's first process was killed before it was up (is its "
				"memory limit very small?)");
	if (status->ready)
		return 0;
	*err = status->err;
	sbx_ns_explain(err);
	return -1;
}

/* One of the two words before the guest's protocol. */
static int say(struct local_box *box, enum sbx_child_word word)
{
	char c = (char)word;
	struct sbx_err ignored = SBX_ERR_INIT;

	/* A child that is gone has said why, or will be found dead. */
	return box->box.stream->ops->write(box->box.stream, &c, 1, &ignored) == 1 ? 0 : -1;
}

/* Clones; where v2's cgroup is refused, without it. */
static int clone_child(struct local_box *box, struct sbx_err *err)
{
	pid_t (*const clone)(int, int *, struct sbx_err *) =
		box->is_bare ? sbx_ns_clone_none : sbx_ns_clone;
	int cgroup = sbx_cgroup_clone_fd(box->cgroup);

	box->pid = clone(cgroup, &box->pidfd, err);
	if (box->pid < 0 && cgroup >= 0) {
		struct sbx_err first = *err;

		sbx_err_clear(err);
		box->pid = clone(-1, &box->pidfd, err);
		if (box->pid > 0)
			sbx_cgroup_refused(box->cgroup, first.sys);
	}
	return box->pid < 0 ? -1 : (int)box->pid;
}

/* The parent's steps between clone and exec. */
static int lead(struct local_box *box, const struct sbx_child *child, int status_fd,
		struct sbx_child_status *status, struct sbx_err *err)
{
	const struct sbx_wake *wake = child->root.spec->wake;
	unsigned int processors = 0;

	if (!box->is_bare && sbx_idmap_write(&box->ids, box->pid, err) < 0) {
		/* A child that failed meanwhile is why, and knows better. */
		if (wait_readable(status_fd, 0) < 0)
			return -1;
		sbx_err_clear(err);
		return hear_child(status_fd, wake, status, err);
	}
	if (say(box, SBX_CHILD_MAPPED) == 0) {
		sbx_cgroup_enter(box->cgroup, box->pid);
		sbx_cgroup_receipt(box->cgroup, child->root.spec, &box->box.receipt, &processors);
		pin(box, processors);
		(void)say(box, SBX_CHILD_GO);
	}
	return hear_child(status_fd, wake, status, err);
}

/* From clone to exec, seen from the parent. */
static int start(struct local_box *box, struct sbx_child *child, struct sbx_child_status *status,
		 struct sbx_err *err)
{
	SBX_CLEANUP(sbx_closep) int child_end = -1, status_write = -1, status_read = -1;
	int sockets[2], status_pipe[2], pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0)
		return sbx_fail_sys(err, errno, "cannot make the sandbox's channel");
	box->box.stream = sbx_stream_fd(sockets[0]);
	child->parent_fd = sockets[0];
	child_end = child->channel_fd = sockets[1];
	if (sbx_set_nonblock(sockets[0], true, err) < 0)
		return -1;
	if (pipe2(status_pipe, O_CLOEXEC) < 0)
		return sbx_fail_sys(err, errno, "cannot make a pipe");
	status_read = status_pipe[0];
	status_write = child->status_fd = status_pipe[1];
	pid = clone_child(box, err);
	if (pid == 0)
		sbx_child_run(child);
	if (pid < 0)
		return -1;
	box->box.lost_fd = box->pidfd;
	sbx_closep(&child_end);
	sbx_closep(&status_write);
	return lead(box, child, status_read, status, err);
}

/* A caller who is not root has no ids to give where no namespace maps them. */
static void own_id(const struct local *local, struct sbx_ids *ids)
{
	if (local->pool.kind == SBX_IDS_ROOT)
		return;
	sbx_ids_release(ids);
	*ids = (struct sbx_ids){
		.kind = SBX_IDS_SINGLE,
		.one_id = true,
		.callers = true,
		.in_uid = local->pool.uid,
		.in_gid = local->pool.gid,
		.guest_uid = local->pool.uid,
		.guest_gid = local->pool.gid,
		.uid = local->pool.uid,
		.gid = local->pool.gid,
		.lock_fd = -1,
	};
}

/* why: NULL, or why there can be no namespaces, and the box does without. */
static int make(struct local *local, const struct sbx_box_spec *spec, const char *why,
		struct local_box *box, struct sbx_child *child, struct sbx_err *err)
{
	struct sbx_child_status status = {.ready = false};

	if (sbx_ids_take(&local->pool, spec->uid, spec->gid, spec->n_mounts > 0, &box->ids, err) <
		    0 ||
	    sbx_cgroup_make(local->cgroups, spec, &box->cgroup, err) < 0)
		return -1;
	if (why)
		own_id(local, &box->ids);
	else if (sbx_scratch_wanted(&spec->limits) &&
		 sbx_scratch_make(&local->pool, spec, &box->ids, &box->scratch, err) < 0)
		return -1;
	child->ids = box->ids;
	child->root = (struct sbx_root){
		.spec = spec,
		.host = &local->host,
		.ids = &child->ids,
		.guest = sbx_guest_start,
		.guest_size = sbx_guest_size(),
	};
	if (box->scratch)
		child->root.work = sbx_scratch_work(box->scratch);
	if (sbx_root_prepare(&child->root, err) < 0)
		return -1;
	if (why) {
		box->is_bare = true;
		box->box.bare = &box->bare.at;
		child->bare = &box->bare;
		if (sbx_bare_make(&box->bare, &child->root, why, err) < 0)
			return -1;
	}
	if (start(box, child, &status, err) < 0)
		return -1;
	user_receipt(local, &box->ids, &box->box.receipt);
	if (why)
		sbx_bare_receipt(&box->bare, &child->root, &box->box.receipt);
	else
		fill_receipt(spec, status.proc_refused, &box->box.receipt);
	if (!why)
		disk_receipt(box->scratch != NULL, &spec->limits, &box->box.receipt);
	guest_limits(box);
	return 0;
}

/* One try; NULL when it failed, and then nothing of it is left. */
static struct local_box *try(struct local *local, const struct sbx_box_spec *spec, const char *why,
			     struct sbx_err *err)
{
	struct local_box *box = sbx_new(struct local_box);
	struct sbx_child *child = sbx_new(struct sbx_child);
	struct sbx_err ignored = SBX_ERR_INIT;
	int result;

	box->box.be = &local->be;
	box->box.lost_fd = box->pidfd = box->ids.lock_fd = -1;
	result = make(local, spec, why, box, child, err);
	sbx_root_release(&child->root);
	free(child);
	if (result == 0)
		return box;
	(void)end_box(box, &ignored);
	return NULL;
}

static int local_create(struct sbx_backend *be, const struct sbx_box_spec *spec,
			struct sbx_box **ret, struct sbx_err *err)
{
	struct local *local = local_of(be);
	struct sbx_err ignored = SBX_ERR_INIT;
	char why[SBX_NS_WHY_MAX];
	struct local_box *box;

	if (prepare(local, err) < 0 || sbx_cgroups_sweep(local->cgroups, true, NULL, err) < 0)
		return -1;
	/* What cannot be removed stands in nobody's way. */
	if (sbx_scratch_sweep(&local->pool, NULL, &ignored) < 0)
		sbx_log(SBX_LOG_INFO, "local", "%s", ignored.msg);
	box = try(local, spec, NULL, err);
	if (!box && spec->accept_bare && sbx_ns_forbidden(err, why)) {
		sbx_err_clear(err);
		if (sbx_bare_sweep(NULL, err) < 0)
			return -1;
		box = try(local, spec, why, err);
	}
	if (!box)
		return -1;
	box->box.one_id = box->ids.one_id;
	box->box.guest_uid = box->ids.one_id ? box->ids.in_uid : 0;
	*ret = &box->box;
	return 0;
}

static int local_destroy(struct sbx_backend *be SBX_UNUSED, struct sbx_box *box,
			 struct sbx_err *err)
{
	return end_box(box_of(box), err);
}

static int local_stats(struct sbx_backend *be SBX_UNUSED, struct sbx_box *box,
		       struct sbx_box_stats *ret, struct sbx_err *err SBX_UNUSED)
{
	struct sbx_cgroup_stats stats;

	sbx_cgroup_stats(box_of(box)->cgroup, &stats);
	*ret = (struct sbx_box_stats){
		.usage = stats.usage,
		.oom_kills = stats.oom_kills,
		.pids_refused = stats.pids_refused,
		.cpu_throttled = stats.cpu_throttled,
		.has_oom_kills = stats.has_oom_kills,
		.has_pids_refused = stats.has_pids_refused,
		.has_cpu_throttled = stats.has_cpu_throttled,
		.has_cpu = stats.has_cpu,
		.disk_over = box_of(box)->scratch && sbx_scratch_is_over(box_of(box)->scratch),
	};
	return 0;
}

static int local_which(struct sbx_backend *be, const char *program, const struct sbx_strv *dirs,
		       char **ret, struct sbx_err *err)
{
	struct local *local = local_of(be);

	if (look(local, err) < 0)
		return -1;
	return sbx_which(&local->host, program, dirs, ret, err);
}

static int local_sweep(struct sbx_backend *be, struct sbx_strv *removed, struct sbx_err *err)
{
	struct local *local = local_of(be);

	if (prepare(local, err) < 0 || sbx_cgroups_sweep(local->cgroups, false, removed, err) < 0)
		return -1;
	if (sbx_scratch_sweep(&local->pool, removed, err) < 0)
		return -1;
	return sbx_bare_sweep(removed, err);
}

static void plan_mounts(const struct local *local, const struct sbx_box_spec *spec,
			struct sbx_jw *jw)
{
	sbx_jw_key(jw, "read_only");
	sbx_jw_array(jw);
	for (size_t i = 0; i < local->host.n_binds; i++)
		sbx_jw_cstr(jw, local->host.binds[i].path);
	sbx_jw_end(jw);
	sbx_jw_key(jw, "mounts");
	sbx_jw_array(jw);
	for (size_t i = 0; i < spec->n_mounts; i++) {
		sbx_jw_object(jw);
		sbx_jw_kstr(jw, "host", spec->mounts[i].host);
		sbx_jw_kstr(jw, "dest", spec->mounts[i].dest);
		sbx_jw_kbool(jw, "writable", spec->mounts[i].writable);
		sbx_jw_end(jw);
	}
	sbx_jw_end(jw);
}

static int local_plan(struct sbx_backend *be, const struct sbx_box_spec *spec, struct sbx_jw *jw,
		      struct sbx_err *err)
{
	static const char *const kinds[] = {
		[SBX_IDS_ROOT] = "two ids, mapped as root",
		[SBX_IDS_HELPER] = "two ids, mapped by newuidmap and newgidmap",
		[SBX_IDS_SINGLE] = "the caller's own id",
	};
	struct local *local = local_of(be);

	if (prepare(local, err) < 0)
		return -1;
	sbx_jw_kstr(jw, "namespaces", "user mount pid ipc uts net cgroup");
	sbx_jw_kstr(jw, "ids", kinds[local->pool.kind]);
	sbx_jw_kstr(jw, "cgroups", sbx_cgroups_name(local->cgroups));
	sbx_jw_kstr(jw, "hostname", spec->hostname);
	sbx_jw_kstr(jw, "workdir", spec->workdir);
	sbx_jw_kstr(jw, "workdir_on", sbx_scratch_wanted(&spec->limits) ? "disk" : "tmpfs");
	plan_mounts(local, spec, jw);
	return 0;
}

const struct sbx_backend_ops sbx_backend_local = {
	.name = "local",
	.open = local_open,
	.close = local_close,
	.prepare = local_prepare,
	.create = local_create,
	.destroy = local_destroy,
	.stats = local_stats,
	.which = local_which,
	.sweep = local_sweep,
	.plan = local_plan,
};
