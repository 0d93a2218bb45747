#include "lib/local/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include "lib/backend/spec.h"
#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/fd.h"
#include "lib/base/mem.h"
#include "lib/local/cgroup-impl.h"

enum {
	MOUNTS_MAX = 16 << 20,
	/* Removing waits for the last traces of dead processes: for so many milliseconds. */
	REMOVE_TRIES = 500,
};

/* "\040" and its like, as mountinfo writes blanks. */
static char *unescape(struct sbx_str s)
{
	char *text = sbx_xcalloc(s.n + 1, 1);
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '\\' && i + 3 < s.n) {
			text[n++] = (char)((s.p[i + 1] - '0') * 64 + (s.p[i + 2] - '0') * 8 +
					   (s.p[i + 3] - '0'));
			i += 3;
		} else {
			text[n++] = s.p[i];
		}
	}
	return text;
}

char *sbx_cg_path(const struct sbx_mountinfo *mount, struct sbx_str own)
{
	SBX_CLEANUP(sbx_freep) char *point = unescape(mount->point);
	SBX_CLEANUP(sbx_freep) char *root = unescape(mount->root);
	size_t n = strcmp(root, "/") == 0 ? 0 : strlen(root);

	/* Where a namespace begins deeper than we are, the kernel writes "/..". */
	if (sbx_str_has_prefix(own, "/.."))
		return NULL;
	/* A container sees its own cgroup as the mount's root, and may be told the path from outside. */
	if (n > 0 && (own.n < n || memcmp(own.p, root, n) != 0 || (own.n > n && own.p[n] != '/')))
		return NULL;
	own.p += n;
	own.n -= n;
	if (own.n == 0 || sbx_str_eq(own, "/"))
		return sbx_xstrdup(point);
	return sbx_xasprintf("%s%.*s", point, (int)own.n, own.p);
}

bool sbx_cg_add_tree(struct sbx_cgroups *set, const struct sbx_mountinfo *mount, char *take_path,
		     unsigned int has)
{
	struct sbx_cg_tree *tree = &set->trees[set->n_trees];
	int fd;

	if (!take_path)
		return false;
	fd = open(take_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* By the effective ids, and EROFS counts. */
	if (fd < 0 || set->n_trees == SBX_CG_TREES || faccessat(fd, ".", W_OK, AT_EACCESS) < 0) {
		sbx_close(fd);
		free(take_path);
		return false;
	}
	*tree = (struct sbx_cg_tree){
		.path = take_path,
		.top = unescape(mount->point),
		.fd = fd,
		.has = has,
	};
	set->n_trees++;
	return true;
}

static void find(struct sbx_cgroups *set, struct sbx_str mounts, struct sbx_str own)
{
	static const struct sbx_cg_version *const versions[] = {&sbx_cg_v2, &sbx_cg_v1,
								&sbx_cg_none};

	for (size_t i = 0; i < SBX_ARRAY_SIZE(versions) && set->n_trees == 0; i++) {
		set->version = versions[i];
		set->version->find(set, mounts, own);
	}
}

int sbx_cgroups_open(struct sbx_cgroups **ret, struct sbx_err *err)
{
	struct sbx_buf mounts = SBX_BUF_INIT(MOUNTS_MAX), own = SBX_BUF_INIT(1 << 16);
	struct sbx_cgroups *set = sbx_new(struct sbx_cgroups);
	int result;

	set->may_ask = true;
	result = sbx_read_file("/proc/self/mountinfo", &mounts, err);

	if (result == 0)
		result = sbx_read_file("/proc/self/cgroup", &own, err);
	if (result < 0 && err->code == SBX_E_NOT_FOUND) {
		/* A kernel without cgroups. */
		sbx_err_clear(err);
		result = 0;
	}
	if (result == 0) {
		find(set, sbx_str_of(sbx_buf_str(&mounts)), sbx_str_of(sbx_buf_str(&own)));
		*ret = set;
	} else {
		free(set);
	}
	sbx_buf_release(&mounts);
	sbx_buf_release(&own);
	return result;
}

void sbx_cgroups_close(struct sbx_cgroups *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->n_trees; i++) {
		sbx_close(set->trees[i].fd);
		free(set->trees[i].path);
		free(set->trees[i].top);
	}
	free(set);
}

const char *sbx_cgroups_name(const struct sbx_cgroups *set)
{
	return set->version->name;
}

int sbx_cg_write(struct sbx_cgroup *cg, size_t i, const char *file, uint64_t value,
		 const char *word)
{
	struct sbx_err err = SBX_ERR_INIT;
	char text[64];

	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	if (sbx_write_text_at(cg->fd[i], file, word ? word : text, &err) == 0)
		return 0;
	cg->refused = err.sys;
	return err.sys;
}

void sbx_cg_hold_memory(struct sbx_cgroup *cg, size_t i, const char *swap_file, uint64_t value)
{
	int refused = cg->refused;
	struct sysinfo info;

	cg->holds |= SBX_CG_MEMORY;
	cg->swaps = sbx_cg_write(cg, i, swap_file, value, NULL) != 0 &&
		    (sysinfo(&info) < 0 || info.totalswap > 0);
	cg->refused = refused; /* of other limits it is not why */
}

uint64_t sbx_cg_pids(const struct sbx_box_spec *spec)
{
	return spec->limits.pids + 1;
}

uint64_t sbx_cg_quota(const struct sbx_box_spec *spec)
{
	uint64_t us;

	if (__builtin_mul_overflow(spec->limits.cpu_milli, SBX_CG_PERIOD_US / 1000, &us))
		return SBX_UNLIMITED;
	return us > 1000 ? us : 1000;
}

static void close_all(struct sbx_cgroup *cg)
{
	for (size_t i = 0; i < SBX_CG_COUNTERS; i++)
		sbx_closep(&cg->counter[i]);
	for (size_t i = 0; i < SBX_CG_TREES; i++)
		sbx_closep(&cg->fd[i]);
}

static void drop_tree(struct sbx_cgroup *cg, size_t i)
{
	sbx_closep(&cg->fd[i]);
	(void)unlinkat(cg->set->trees[i].fd, cg->name, AT_REMOVEDIR);
	cg->holds &= ~cg->set->trees[i].has;
}

int sbx_cgroup_make(struct sbx_cgroups *set, const struct sbx_box_spec *spec,
		    struct sbx_cgroup **ret, struct sbx_err *err)
{
	struct sbx_cgroup *cg;

	if (strlen(spec->name) >= SBX_OWNER_NAME_MAX || strchr(spec->name, '/'))
		return sbx_fail(err, SBX_E_USAGE, "'%s' cannot be a sandbox's name", spec->name);
	cg = sbx_new(struct sbx_cgroup);
	cg->set = set;
	(void)snprintf(cg->name, sizeof(cg->name), "%s", spec->name);
	for (size_t i = 0; i < SBX_CG_COUNTERS; i++)
		cg->counter[i] = -1;
	for (size_t i = 0; i < SBX_CG_TREES; i++)
		cg->fd[i] = -1;
	for (size_t i = 0; i < set->n_trees; i++) {
		if (mkdirat(set->trees[i].fd, cg->name, 0755) < 0) {
			cg->refused = errno;
			continue;
		}
		cg->fd[i] = openat(set->trees[i].fd, cg->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (cg->fd[i] >= 0) {
			set->version->limit(cg, i, spec);
			continue;
		}
		cg->refused = errno; /* no descriptor left: the folder would be left, too */
		(void)unlinkat(set->trees[i].fd, cg->name, AT_REMOVEDIR);
	}
	*ret = cg;
	return 0;
}

int sbx_cgroup_clone_fd(const struct sbx_cgroup *cg)
{
	return cg->set->version->clone_into ? cg->fd[0] : -1;
}

void sbx_cgroup_refused(struct sbx_cgroup *cg, int num)
{
	for (size_t i = 0; i < cg->set->n_trees; i++)
		drop_tree(cg, i);
	cg->refused = num;
}

void sbx_cgroup_enter(struct sbx_cgroup *cg, pid_t pid)
{
	if (cg->set->version->clone_into)
		return;
	for (size_t i = 0; i < cg->set->n_trees; i++) {
		if (cg->fd[i] >= 0 && sbx_cg_write(cg, i, "cgroup.procs", (uint64_t)pid, NULL) != 0)
			drop_tree(cg, i);
	}
}

struct sbx_str sbx_cg_read(struct sbx_cgroup *cg, unsigned int controller, unsigned int which,
			   const char *file, char buf[SBX_CG_TEXT])
{
	int *fd = &cg->counter[which];
	ssize_t n = 0;

	for (size_t i = 0; *fd == -1 && i < cg->set->n_trees; i++) {
		if ((cg->set->trees[i].has & controller) && cg->fd[i] >= 0)
			*fd = openat(cg->fd[i], file, O_RDONLY | O_CLOEXEC);
	}
	if (*fd == -1)
		*fd = -2; /* asked once */
	if (*fd >= 0)
		n = pread(*fd, buf, SBX_CG_TEXT, 0);
	return (struct sbx_str){.p = buf, .n = n > 0 ? (size_t)n : 0};
}

bool sbx_cg_value(struct sbx_str text, const char *key, uint64_t *ret)
{
	struct sbx_err ignored = SBX_ERR_INIT;
	struct sbx_str line, name;

	while (sbx_str_split(&text, '\n', &line)) {
		if (key && !(sbx_str_split(&line, ' ', &name) && sbx_str_eq(name, key)))
			continue;
		return sbx_str_u64(line, UINT64_MAX, "counter", ret, &ignored) == 0;
	}
	return false;
}

void sbx_cgroup_stats(struct sbx_cgroup *cg, struct sbx_cgroup_stats *ret)
{
	*ret = (struct sbx_cgroup_stats){.has_cpu = false};
	cg->set->version->stats(cg, ret);
}

/* Why a limit is not held, for a receipt. */
static const char *why_not(const struct sbx_cgroup *cg)
{
	if (cg->refused != 0)
		return sbx_strerror(cg->refused);
	return cg->set->why ? cg->set->why : "the controller is not there";
}

/* Processors that this process may use; what it cannot, its sandboxes cannot. */
static unsigned int processors(void)
{
	cpu_set_t ours;

	if (sched_getaffinity(0, sizeof(ours), &ours) < 0)
		return UINT_MAX; /* more than a set holds */
	return (unsigned int)CPU_COUNT(&ours);
}

static void cpu_receipt(const struct sbx_cgroup *cg, const struct sbx_box_spec *spec,
			struct sbx_receipt *receipt, unsigned int *pin)
{
	uint64_t wanted = spec->limits.cpu_milli / 1000 + (spec->limits.cpu_milli % 1000 != 0);
	unsigned int there;

	if (cg->holds & SBX_CG_CPU) {
		sbx_receipt_set(receipt, SBX_CTL_CPU, SBX_HELD_ENFORCED, "%s%s",
				cg->set->version->name,
				cg->outer_cpu ? " around it, which allows less" : "");
		return;
	}
	there = processors();
	if (spec->limits.cpu_milli / 1000 >= there) {
		sbx_receipt_set(receipt, SBX_CTL_CPU, SBX_HELD_ENFORCED,
				"there are no more than %u processors", there);
		return;
	}
	/* As many whole ones, but not less than one. */
	*pin = wanted < there ? (unsigned int)wanted : there;
	sbx_receipt_set(receipt, SBX_CTL_CPU, SBX_HELD_DEGRADED,
			"bound to %u of the processors, which the program can undo; no cgroup: %s",
			*pin, why_not(cg));
}

void sbx_cgroup_receipt(const struct sbx_cgroup *cg, const struct sbx_box_spec *spec,
			struct sbx_receipt *receipt, unsigned int *pin)
{
	const char *name = cg->set->version->name;

	*pin = 0;
	if (spec->limits.cpu_milli != SBX_UNLIMITED)
		cpu_receipt(cg, spec, receipt, pin);
	if (spec->limits.memory_bytes != SBX_UNLIMITED) {
		if ((cg->holds & SBX_CG_MEMORY) && cg->swaps)
			sbx_receipt_set(receipt, SBX_CTL_MEMORY, SBX_HELD_DEGRADED,
					"%s without the swap, which this kernel does not count "
					"(boot it with swapaccount=1)",
					name);
		else if (cg->holds & SBX_CG_MEMORY)
			sbx_receipt_set(receipt, SBX_CTL_MEMORY, SBX_HELD_ENFORCED, "%s", name);
		else
			sbx_receipt_set(receipt, SBX_CTL_MEMORY, SBX_HELD_DEGRADED,
					"RLIMIT_DATA and polling, which miss tmpfs, memfd, pipes, "
					"page tables; no cgroup: %s",
					why_not(cg));
	}
	if (spec->limits.pids != SBX_UNLIMITED) {
		if (cg->holds & SBX_CG_PIDS)
			sbx_receipt_set(receipt, SBX_CTL_PIDS, SBX_HELD_ENFORCED, "%s", name);
		else
			sbx_receipt_set(receipt, SBX_CTL_PIDS, SBX_HELD_DEGRADED,
					"RLIMIT_NPROC of the user namespace; no cgroup: %s",
					why_not(cg));
	}
}

static int remove_from(const struct sbx_cg_tree *tree, const char *name)
{
	static const struct timespec ms = {.tv_nsec = 1000000};

	for (int i = 0; unlinkat(tree->fd, name, AT_REMOVEDIR) < 0; i++) {
		if (errno == ENOENT)
			return 0;
		if (errno != EBUSY || i == REMOVE_TRIES)
			return errno;
		(void)nanosleep(&ms, NULL);
	}
	return 0;
}

int sbx_cgroup_remove(struct sbx_cgroup *cg, struct sbx_err *err)
{
	int result = 0;

	if (!cg)
		return 0;
	for (size_t i = 0; i < cg->set->n_trees; i++) {
		int num = cg->fd[i] >= 0 ? remove_from(&cg->set->trees[i], cg->name) : 0;

		if (num != 0 && result == 0)
			result = sbx_fail_sys(err, num, "cannot remove the cgroup '%s/%s'",
					      cg->set->trees[i].path, cg->name);
	}
	close_all(cg);
	free(cg);
	return result;
}
