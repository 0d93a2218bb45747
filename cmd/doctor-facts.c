/*
 * The machine as the kernel shows it.  These are hints for a person who wants to know why a control
 * is degraded; what a run really has is measured by a run.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cmd/doctor.h"
#include "lib/base/err.h"
#include "lib/base/fd.h"
#include "lib/base/mem.h"
#include "lib/base/str.h"

enum { FILE_MAX = 64 << 10 };

/* A small file of /proc, /sys or /etc; false when it is not there. */
static bool read_small(const char *path, struct sbx_buf *text)
{
	struct sbx_err ignored = SBX_ERR_INIT; /* what cannot be read is not there */

	sbx_buf_reset(text);
	return sbx_read_file(path, text, &ignored) == 0;
}

/* Adds words with a blank between them; what does not fit is left out. */
static void add_word(struct sbx_buf *text, struct sbx_str word)
{
	struct sbx_err ignored = SBX_ERR_INIT;

	if (text->len + word.n + 1 >= text->max)
		return;
	if ((text->len > 0 && sbx_buf_addc(text, ' ', &ignored) < 0) ||
	    sbx_buf_add(text, word.p, word.n, &ignored) < 0)
		return;
}

static void add_words(struct sbx_buf *text, const char *words)
{
	add_word(text, sbx_str_of(words));
}

static void find_kernel(struct sbx_buf *text)
{
	struct utsname u;

	if (uname(&u) < 0)
		return;
	add_words(text, u.sysname);
	add_words(text, u.release);
	add_words(text, u.machine);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_namespace(const struct dirent *d)
{
	return d->d_name[0] != '.' && !strstr(d->d_name, "_for_children");
}

static void find_namespaces(struct sbx_buf *text)
{
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf limit = SBX_BUF_INIT(FILE_MAX);
	struct dirent **names;
	int n = scandir("/proc/self/ns", &names, is_namespace, by_name);

	for (int i = 0; i < n; i++) {
		add_words(text, names[i]->d_name);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
	if (read_small("/proc/sys/user/max_user_namespaces", &limit) &&
	    strcmp(sbx_buf_str(&limit), "0\n") == 0)
		add_words(text, "(user namespaces are switched off: user.max_user_namespaces)");
	if (read_small("/proc/sys/kernel/unprivileged_userns_clone", &limit) &&
	    strcmp(sbx_buf_str(&limit), "0\n") == 0 && geteuid() != 0)
		add_words(text, "(for root only: kernel.unprivileged_userns_clone)");
	if (read_small("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", &limit) &&
	    strcmp(sbx_buf_str(&limit), "1\n") == 0 && geteuid() != 0)
		add_words(text, "(restricted: kernel.apparmor_restrict_unprivileged_userns)");
}

/* One line of /proc/self/cgroup: "4:memory:/path" is v1, "0::/path" is v2. */
static void add_cgroup(struct sbx_buf *text, struct sbx_str line)
{
	static const char *const wanted[] = {"memory", "cpu", "cpuacct", "pids"};
	struct sbx_str number = {.n = 0}, list = {.n = 0}, name;

	(void)sbx_str_split(&line, ':', &number);
	(void)sbx_str_split(&line, ':', &list);
	while (sbx_str_split(&list, ',', &name)) {
		for (size_t i = 0; i < SBX_ARRAY_SIZE(wanted); i++) {
			if (!sbx_str_eq(name, wanted[i]))
				continue;
			add_word(text, name);
			add_words(text, "v1");
		}
	}
}

static void find_cgroups(struct sbx_buf *text)
{
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf file = SBX_BUF_INIT(FILE_MAX);
	struct sbx_str rest, part;

	if (read_small("/proc/self/cgroup", &file)) {
		rest = (struct sbx_str){sbx_buf_str(&file), file.len};
		while (sbx_str_split(&rest, '\n', &part))
			add_cgroup(text, part);
	}
	if (!read_small("/sys/fs/cgroup/cgroup.controllers", &file))
		return;
	rest = sbx_str_trim((struct sbx_str){sbx_buf_str(&file), file.len});
	while (sbx_str_split(&rest, ' ', &part)) {
		add_word(text, part);
		add_words(text, "v2");
	}
}

static bool in_path(const char *program)
{
	static const char *const folders[] = {"/usr/local/bin", "/usr/bin", "/bin"};

	for (size_t i = 0; i < SBX_ARRAY_SIZE(folders); i++) {
		SBX_CLEANUP(sbx_freep) char *path = sbx_xasprintf("%s/%s", folders[i], program);

		if (access(path, X_OK) == 0)
			return true;
	}
	return false;
}

/* The caller's line of /etc/subuid or /etc/subgid. */
static void add_subids(struct sbx_buf *text, const char *path)
{
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf file = SBX_BUF_INIT(FILE_MAX);
	SBX_CLEANUP(sbx_freep) char *number = sbx_xasprintf("%u", geteuid());
	const struct passwd *pw = getpwuid(geteuid());
	struct sbx_str rest, line;

	if (!read_small(path, &file))
		return;
	rest = (struct sbx_str){sbx_buf_str(&file), file.len};
	while (sbx_str_split(&rest, '\n', &line)) {
		struct sbx_str behind = line, name;

		if (sbx_str_split(&behind, ':', &name) &&
		    (sbx_str_eq(name, number) || (pw && sbx_str_eq(name, pw->pw_name)))) {
			add_words(text, path);
			add_word(text, behind);
		}
	}
}

static void find_ids(struct sbx_buf *text)
{
	if (geteuid() == 0)
		add_words(text, "any, as root");
	add_subids(text, "/etc/subuid");
	add_subids(text, "/etc/subgid");
	if (geteuid() != 0 && !(in_path("newuidmap") && in_path("newgidmap")))
		add_words(text,
			  "(newuidmap and newgidmap are missing: install the package 'uidmap')");
}

static void find_landlock(struct sbx_buf *text)
{
	SBX_CLEANUP(sbx_freep) char *words = NULL;
	/*
	 * LANDLOCK_CREATE_RULESET_VERSION: the call then answers the ABI's number and makes
	 * nothing.
	 */
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);

	if (abi < 1)
		return;
	words = sbx_xasprintf("ABI %ld%s", abi, abi < 2 ? " (2 is needed)" : "");
	add_words(text, words);
}

static void find_seccomp(struct sbx_buf *text)
{
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf file = SBX_BUF_INIT(FILE_MAX);

	if (read_small("/proc/sys/kernel/seccomp/actions_avail", &file))
		add_word(text, sbx_str_trim((struct sbx_str){sbx_buf_str(&file), file.len}));
}

const struct sbx_fact sbx_facts[] = {
	{"kernel", find_kernel},
	{"namespaces", find_namespaces},
	{"cgroup", find_cgroups},
	{"ids", find_ids},
	{"landlock", find_landlock},
	{"seccomp", find_seccomp},
	{0},
};

/* --- what would help -------------------------------------------------------------------------- */

enum { FIRST_SUBID = 100000, SUBIDS = 65536 };

/* The first id behind all lines of /etc/subuid or /etc/subgid, or least. */
static uint64_t behind_subids(const char *path, uint64_t least)
{
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf file = SBX_BUF_INIT(FILE_MAX);
	struct sbx_err ignored = SBX_ERR_INIT;
	struct sbx_str rest, line, name, first;
	uint64_t from, count;

	if (!read_small(path, &file))
		return least;
	rest = (struct sbx_str){sbx_buf_str(&file), file.len};
	while (sbx_str_split(&rest, '\n', &line)) {
		if (sbx_str_split(&line, ':', &name) && sbx_str_split(&line, ':', &first) &&
		    sbx_str_u64(first, UINT32_MAX, "id", &from, &ignored) == 0 &&
		    sbx_str_u64(line, UINT32_MAX, "count", &count, &ignored) == 0 &&
		    from + count > least)
			least = from + count;
		sbx_err_clear(&ignored);
	}
	return least;
}

static void help_user(const char *by SBX_UNUSED, struct sbx_buf *text)
{
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf uids = SBX_BUF_INIT(SBX_FACT_MAX);
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf gids = SBX_BUF_INIT(SBX_FACT_MAX);
	SBX_CLEANUP(sbx_freep) char *line = NULL;
	const struct passwd *pw = getpwuid(geteuid());
	uint64_t first;

	if (geteuid() == 0)
		return;
	if (!in_path("newuidmap") || !in_path("newgidmap"))
		add_words(text, "install the package 'uidmap' (Fedora: 'shadow-utils')");
	add_subids(&uids, "/etc/subuid");
	add_subids(&gids, "/etc/subgid");
	if (!pw || (uids.len > 0 && gids.len > 0))
		return;
	first = behind_subids("/etc/subgid", behind_subids("/etc/subuid", FIRST_SUBID));
	line = sbx_xasprintf(
		"%sas root: usermod --add-subuids %llu-%llu --add-subgids %llu-%llu %s",
		text->len > 0 ? "and " : "", (unsigned long long)first,
		(unsigned long long)first + SUBIDS - 1, (unsigned long long)first,
		(unsigned long long)first + SUBIDS - 1, pw->pw_name);
	add_words(text, line);
}

/* A user's cgroups come from the user's systemd. */
static void help_cgroup(const char *by, struct sbx_buf *text)
{
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf file = SBX_BUF_INIT(FILE_MAX);
	SBX_CLEANUP(sbx_freep) char *line = NULL, *bus = NULL;
	const struct passwd *pw = getpwuid(geteuid());

	if (geteuid() == 0 || !pw || access("/run/systemd/system", F_OK) < 0)
		return;
	bus = sbx_xasprintf("/run/user/%u/bus", geteuid());
	if (!read_small("/sys/fs/cgroup/cgroup.controllers", &file))
		add_words(text, "boot with systemd.unified_cgroup_hierarchy=1");
	else if (strstr(by, "libsystemd.so.0 is not installed"))
		add_words(text, "install the package 'libsystemd0' (Fedora: 'systemd-libs')");
	else if (!strstr(by, "no user bus"))
		return;
	else if (access(bus, F_OK) == 0)
		line = sbx_xasprintf("export DBUS_SESSION_BUS_ADDRESS=unix:path=%s", bus);
	else
		line = sbx_xasprintf("log in as %s, or as root: loginctl enable-linger %s; "
				     "then export DBUS_SESSION_BUS_ADDRESS=unix:path=%s",
				     pw->pw_name, pw->pw_name, bus);
	if (line)
		add_words(text, line);
}

static void help_landlock(const char *by SBX_UNUSED, struct sbx_buf *text)
{
	SBX_CLEANUP(sbx_buf_release) struct sbx_buf lsm = SBX_BUF_INIT(FILE_MAX);
	SBX_CLEANUP(sbx_freep) char *line = NULL;

	/* Built in and switched off; a kernel without it says ENOSYS. */
	if (syscall(SYS_landlock_create_ruleset, NULL, 0, 1) >= 0 || errno != EOPNOTSUPP)
		return;
	if (read_small("/sys/kernel/security/lsm", &lsm))
		line = sbx_xasprintf("boot with lsm=landlock,%s", sbx_buf_str(&lsm));
	add_words(text, line ? line : "put landlock into the kernel's lsm= at boot");
}

void sbx_doctor_help(enum sbx_control control, const char *by, struct sbx_buf *text)
{
	static const struct {
		enum sbx_control control;
		void (*help)(const char *by, struct sbx_buf *text);
	} rows[] = {
		{SBX_CTL_USER, help_user},         {SBX_CTL_MEMORY, help_cgroup},
		{SBX_CTL_CPU, help_cgroup},        {SBX_CTL_PIDS, help_cgroup},
		{SBX_CTL_LANDLOCK, help_landlock},
	};

	for (size_t i = 0; i < SBX_ARRAY_SIZE(rows); i++) {
		if (rows[i].control == control)
			rows[i].help(by, text);
	}
}
