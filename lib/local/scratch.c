/*
 * The keeper is told what to do by one byte on its socket, answers each with a struct sbx_err, and ends at the socket's end.
 *
 * Which folder is somebody's is told by its name and by a lock on it, which its llmsbx holds for as long as it lives: the name's
 * process may be of another pid namespace that shares this cache, where we cannot see it.
 */
#include "lib/local/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/backend/spec.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/fd.h"
#include "lib/base/mem.h"
#include "lib/base/path.h"
#include "lib/base/strv.h"
#include "lib/local/idmap.h"
#include "lib/local/ids.h"
#include "lib/local/ns.h"
#include "lib/local/tree.h"
#include "lib/proc/owner.h"

#define ROOT_CACHE "/var/cache/llmsbx"
#define WORK       "work"

enum word {
	WORD_MAKE = 'm',
	WORD_EMPTY = 'e',
};

enum {
	POLL_MS = 20, /* between two looks, at least */
	FULL = 20,    /* of what a file system has, such a part left is nearly none */
	REST = 4, /* and so many times as long as a look took: a large tree is not worth a processor */
	LOOKS = 3, /* that must find it over: a folder that moves meanwhile may be counted twice in one */
};

#define MAKE_NS  (UINT64_C(30) * 1000000000)
#define EMPTY_NS (UINT64_C(300) * 1000000000) /* millions of files on a slow disk */

/* What the keeper lets its parent see. */
struct seen {
	atomic_bool over;
};

struct keeper {
	int channel, folder; /* its only descriptors */
	uid_t uid;           /* the program's, as the keeper sees it */
	gid_t gid;
	uint64_t most; /* SBX_UNLIMITED: nothing is to be measured */
	struct seen *seen;
};

struct sbx_scratch {
	char *name, *path; /* owned; path is the work directory's */
	int cache, folder; /* of descriptors; folder is locked */
	int channel;       /* to the keeper */
	pid_t keeper;
	struct sbx_scratch_work work;
	struct seen *seen; /* shared with the keeper; NULL: nothing to see */
};

bool sbx_scratch_wanted(const struct sbx_limits *limits)
{
	return limits->disk_explicit && limits->disk_bytes != SBX_UNLIMITED &&
	       limits->memory_bytes != SBX_UNLIMITED &&
	       limits->disk_bytes > limits->memory_bytes / 2;
}

/* ---- in the keeper */

static int make_work(const struct keeper *k, struct sbx_err *err)
{
	if (mkdirat(k->folder, WORK, 0700) < 0 ||
	    fchownat(k->folder, WORK, k->uid, k->gid, AT_SYMLINK_NOFOLLOW) < 0)
		return sbx_fail_sys(err, errno, "cannot make it the program's");
	return 0;
}

/* What was seen, and what the file system had left then. */
struct sight {
	unsigned int times;      /* in a row that it was found over */
	uint64_t next_ns;        /* when to look again */
	uint64_t room;           /* that its limit left */
	uint64_t at_start, then; /* free bytes of the file system */
};

static uint64_t free_bytes(const struct keeper *k, uint64_t *ret_all)
{
	struct statvfs fs = {.f_bavail = 0};

	if (fstatvfs(k->folder, &fs) < 0)
		return 0;
	*ret_all = (uint64_t)fs.f_blocks * fs.f_frsize;
	return (uint64_t)fs.f_bavail * fs.f_frsize;
}

static void look(const struct keeper *k, struct sight *sight)
{
	uint64_t start = sbx_now_ns(), bytes, all = 0;
	bool known;

	sight->then = free_bytes(k, &all);
	known = sbx_tree_measure(k->folder, k->most, &bytes);
	sight->times = known && bytes <= k->most ? 0 : sight->times + 1;
	sight->room = sight->times > 0 ? 0 : k->most - bytes;
	sight->next_ns = sbx_now_ns() + REST * (sbx_now_ns() - start);
	if (sight->times == 0 || sight->times >= LOOKS)
		atomic_store(&k->seen->over, sight->times > 0);
}

/*
 * What the file system lost may have gone into the tree: then it is time to look.  And into files that no name leads to: where it has
 * lost more than the limit since the start and is nearly full, no more is let.
 */
static void watch(const struct keeper *k, struct sight *sight)
{
	uint64_t all = 0, now = free_bytes(k, &all);

	if (now < sight->at_start && sight->at_start - now > k->most && now < all / FULL)
		atomic_store(&k->seen->over, true);
	else if (sbx_now_ns() >= sight->next_ns || sight->times > 0 ||
		 (now < sight->then && sight->then - now > sight->room))
		look(k, sight);
}

/* The next word; 0 at the end. */
static char hear(const struct keeper *k)
{
	struct pollfd p = {.fd = k->channel, .events = POLLIN};
	bool measures = k->most != SBX_UNLIMITED;
	uint64_t all = 0;
	struct sight sight = {.at_start = free_bytes(k, &all)};
	char word = 0;

	while (poll(&p, 1, measures ? POLL_MS : -1) == 0)
		watch(k, &sight);
	return read(k->channel, &word, 1) == 1 ? word : 0;
}

static SBX_NORETURN void keep(const struct keeper *k, pid_t parent)
{
	unsigned int low = (unsigned int)(k->channel < k->folder ? k->channel : k->folder);
	unsigned int high = (unsigned int)(k->channel < k->folder ? k->folder : k->channel);
	char word;

	/* Nobody else would end it when we are killed; a parent that died before this call is not it any more. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)prctl(PR_SET_NAME, "llmsbx-keeper", 0, 0, 0);
	if (getppid() != parent)
		_exit(1);
	/* The parent's pipes and channels must not stay open here. */
	if (low > 0)
		(void)syscall(SYS_close_range, 0, low - 1, 0);
	if (high > low + 1)
		(void)syscall(SYS_close_range, low + 1, high - 1, 0);
	(void)syscall(SYS_close_range, high + 1, ~0U, 0);
	while ((word = hear(k)) != 0) {
		struct sbx_err err = SBX_ERR_INIT;
		int result =
			word == WORD_MAKE ? make_work(k, &err) : sbx_tree_empty(k->folder, &err);

		(void)result; /* a failure is in err, which is the answer */
		if (write(k->channel, &err, sizeof(err)) != (ssize_t)sizeof(err))
			break;
	}
	_exit(0);
}

/* ---- its parent */

static int start_keeper(struct sbx_scratch *s, const struct sbx_id_pool *pool, struct keeper *k,
			struct sbx_err *err)
{
	struct clone_args args = {.exit_signal = SIGCHLD};
	pid_t parent = getpid();
	int ends[2];
	long pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return sbx_fail_sys(err, errno, "cannot make a channel");
	s->channel = ends[0];
	k->channel = ends[1];
	k->folder = s->folder;
	if (pool->kind != SBX_IDS_ROOT)
		args.flags = CLONE_NEWUSER;
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		keep(k, parent);
	sbx_close(ends[1]);
	if (pid < 0)
		return args.flags ? sbx_ns_refused(errno, err)
				  : sbx_fail_sys(err, errno, "cannot start a process for it");
	s->keeper = (pid_t)pid;
	return pool->kind == SBX_IDS_ROOT ? 0 : sbx_idmap_write_all(pool, s->keeper, err);
}

/* Has the keeper do something, and waits for that. */
static int tell(const struct sbx_scratch *s, enum word word, uint64_t span_ns, struct sbx_err *err)
{
	uint64_t deadline = sbx_deadline(span_ns);
	struct pollfd p = {.fd = s->channel, .events = POLLIN};
	struct sbx_err said;
	char c = (char)word;
	int n;

	if (send(s->channel, &c, 1, MSG_NOSIGNAL) != 1)
		return sbx_fail_sys(err, errno, "its keeper is gone");
	do
		n = poll(&p, 1, sbx_poll_ms(deadline));
	while (n < 0 && errno == EINTR);
	if (n == 0)
		return sbx_fail(err, SBX_E_TIMEOUT, "it takes too long");
	if (read(s->channel, &said, sizeof(said)) != (ssize_t)sizeof(said))
		return sbx_fail(err, SBX_E_LOST, "its keeper was killed");
	if (said.code == SBX_E_OK)
		return 0;
	*err = said;
	return -1;
}

static void release(struct sbx_scratch *s)
{
	sbx_close(s->channel);
	if (s->keeper > 0) {
		(void)kill(s->keeper, SIGKILL);
		while (waitpid(s->keeper, NULL, 0) < 0 && errno == EINTR)
			;
	}
	sbx_close(s->folder);
	sbx_close(s->cache);
	if (s->seen)
		(void)munmap(s->seen, sizeof(*s->seen));
	free(s->name);
	free(s->path);
	free(s);
}

static int cache_path(char **ret, struct sbx_err *err)
{
	if (sbx_user_folder(SBX_FOLDER_CACHE, ret, err) == 0)
		return 0;
	if (geteuid() != 0)
		return sbx_wrap(err,
				"--disk above half of --memory is on disk, in the cache folder");
	sbx_err_clear(err);
	*ret = sbx_xstrdup(ROOT_CACHE);
	return 0;
}

/* The folder itself, never what a link in its place says; others may look into it but not change it. */
static int open_cache(const char *path, struct sbx_err *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
		return sbx_fail(err, SBX_E_DENIED,
				"the cache folder '%s' must be a folder, no link: remove it", path);
	if (fd < 0 || fstat(fd, &st) < 0) {
		(void)sbx_fail_sys(err, errno, "cannot open the cache folder '%s'", path);
	} else if (st.st_uid != geteuid() || (st.st_mode & 022) != 0) {
		(void)sbx_fail(
			err, SBX_E_DENIED,
			"the cache folder '%s' must be yours, for nobody else to write (owner %u, "
			"mode %04o): name another by XDG_CACHE_HOME",
			path, st.st_uid, st.st_mode & 07777U);
	}
	if (err->code != SBX_E_OK)
		sbx_closep(&fd);
	return fd;
}

static struct sbx_scratch *scratch_new(const char *name)
{
	struct sbx_scratch *s = sbx_new(struct sbx_scratch);

	s->name = sbx_xstrdup(name);
	s->cache = s->folder = s->channel = -1;
	return s;
}

static int open_folder(struct sbx_scratch *s, struct sbx_err *err)
{
	s->folder = openat(s->cache, s->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (s->folder < 0)
		return sbx_fail_sys(err, errno, "cannot open it");
	return 0;
}

/* Its lock is a wish: a file system of another machine may know none for folders, and then nobody knows what was left there. */
static int make_folder(struct sbx_scratch *s, struct sbx_err *err)
{
	if (mkdirat(s->cache, s->name, 0700) < 0)
		return sbx_fail_sys(err, errno, "cannot make it");
	if (open_folder(s, err) < 0)
		return -1;
	(void)flock(s->folder, LOCK_EX | LOCK_NB);
	/* Below a folder with a group of its own it would have that one. */
	if (fchown(s->folder, (uid_t)-1, getegid()) < 0)
		return sbx_fail_sys(err, errno, "cannot make it ours");
	return 0;
}

static int share(struct sbx_scratch *s, struct sbx_err *err)
{
	void *p = mmap(NULL, sizeof(*s->seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);

	if (p == MAP_FAILED)
		return sbx_fail_sys(err, errno, "cannot share memory with its keeper");
	s->seen = p;
	atomic_init(&s->seen->over, false);
	return 0;
}

static int make_all(struct sbx_scratch *s, const struct sbx_id_pool *pool,
		    const struct sbx_box_spec *spec, const struct sbx_ids *ids, struct sbx_err *err)
{
	struct keeper keeper = {.uid = ids->uid, .gid = ids->gid, .most = spec->limits.disk_bytes};
	struct stat st;

	if (make_folder(s, err) < 0 || share(s, err) < 0)
		return -1;
	keeper.seen = s->seen;
	if (pool->kind != SBX_IDS_ROOT) {
		keeper.uid = sbx_idmap_all_inside(pool->uid, pool->uids, ids->uid);
		keeper.gid = sbx_idmap_all_inside(pool->gid, pool->gids, ids->gid);
	}
	if (start_keeper(s, pool, &keeper, err) < 0 || tell(s, WORD_MAKE, MAKE_NS, err) < 0) {
		sbx_ns_explain(err);
		return -1;
	}
	if (fstatat(s->folder, WORK, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return sbx_fail_sys(err, errno, "cannot look at it");
	s->work = (struct sbx_scratch_work){.path = s->path, .dev = st.st_dev, .ino = st.st_ino};
	return 0;
}

/* What the keeper emptied is removed. */
static int finish(struct sbx_scratch *s, struct sbx_err *err)
{
	if (s->keeper > 0 && tell(s, WORD_EMPTY, EMPTY_NS, err) < 0)
		return -1;
	if (s->folder >= 0 && unlinkat(s->cache, s->name, AT_REMOVEDIR) < 0)
		return sbx_fail_sys(err, errno, "it is not empty or not ours");
	return 0;
}

int sbx_scratch_make(const struct sbx_id_pool *pool, const struct sbx_box_spec *spec,
		     const struct sbx_ids *ids, struct sbx_scratch **ret, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_freep) char *cache = NULL;
	struct sbx_err ignored = SBX_ERR_INIT;
	struct sbx_scratch *s;

	if (cache_path(&cache, err) < 0)
		return -1;
	if (sbx_make_folders(cache, 0700, err) < 0)
		return sbx_wrap(err, "--disk above half of --memory is on disk");
	s = scratch_new(spec->name);
	s->path = sbx_xasprintf("%s/%s/" WORK, cache, spec->name);
	s->cache = open_cache(cache, err);
	/* That there are no namespaces is about more than this folder. */
	if (s->cache >= 0 && make_all(s, pool, spec, ids, err) < 0 &&
	    err->code != SBX_E_UNSUPPORTED)
		(void)sbx_wrap(err, "cannot make the work directory '%s'", s->path);
	if (err->code == SBX_E_OK) {
		*ret = s;
		return 0;
	}
	(void)finish(s, &ignored);
	release(s);
	return -1;
}

struct sbx_scratch_work sbx_scratch_work(const struct sbx_scratch *scratch)
{
	return scratch->work;
}

void sbx_scratch_receipt(struct sbx_receipt *receipt)
{
	sbx_receipt_set(receipt, SBX_CTL_DISK, SBX_HELD_DEGRADED,
			"on disk, measured every %d ms or slower, without deleted files that are "
			"still open",
			POLL_MS);
}

bool sbx_scratch_is_over(const struct sbx_scratch *scratch)
{
	return atomic_load(&scratch->seen->over);
}

int sbx_scratch_remove(struct sbx_scratch *scratch, struct sbx_err *err)
{
	int result;

	if (!scratch)
		return 0;
	result = finish(scratch, err);
	if (result < 0)
		(void)sbx_wrap(err, "cannot remove '%s' (`llmsbx gc` tries again)", scratch->path);
	release(scratch);
	return result;
}

/* ---- what was left */

/* Whether a folder's owner is gone, also from other machines that share the cache; it is opened and locked then. */
static bool is_left(struct sbx_scratch *s)
{
	struct sbx_err ignored = SBX_ERR_INIT;
	struct sbx_owner owner;
	struct stat st;

	return sbx_owner_parse(s->name, &owner) && !sbx_owner_alive(&owner) &&
	       open_folder(s, &ignored) == 0 && fstat(s->folder, &st) == 0 &&
	       st.st_uid == geteuid() && flock(s->folder, LOCK_EX | LOCK_NB) == 0;
}

static int sweep_one(const struct sbx_id_pool *pool, const char *cache, const char *name,
		     struct sbx_strv *removed, struct sbx_err *err)
{
	struct sbx_scratch *s = scratch_new(name);
	struct keeper keeper = {.most = SBX_UNLIMITED};

	s->path = sbx_xasprintf("%s/%s", cache, name);
	s->cache = open_cache(cache, err);
	if (s->cache >= 0 && is_left(s)) {
		if (start_keeper(s, pool, &keeper, err) < 0 || finish(s, err) < 0)
			(void)sbx_wrap(err, "cannot remove '%s'", s->path);
		else if (removed && sbx_strv_addf(removed, err, "folder %s", s->path) < 0)
			(void)sbx_wrap(err, "'%s'", s->path);
	}
	release(s);
	return err->code == SBX_E_OK ? 0 : -1;
}

int sbx_scratch_sweep(const struct sbx_id_pool *pool, struct sbx_strv *removed, struct sbx_err *err)
{
	SBX_CLEANUP(sbx_freep) char *cache = NULL;
	struct sbx_err ignored = SBX_ERR_INIT;
	const struct dirent *entry;
	struct sbx_owner owner;
	DIR *dir = NULL;
	int fd;

	/* In a folder that we would not use there is nothing of ours. */
	if (cache_path(&cache, &ignored) < 0)
		return 0;
	fd = open_cache(cache, &ignored);
	if (fd >= 0 && !(dir = fdopendir(fd)))
		sbx_close(fd);
	while (dir && err->code == SBX_E_OK && (entry = readdir(dir))) {
		if (sbx_owner_parse(entry->d_name, &owner))
			(void)sweep_one(pool, cache, entry->d_name, removed, err);
	}
	if (dir)
		(void)closedir(dir);
	return err->code == SBX_E_OK ? 0 : -1;
}
