/*
 * Theory of operation.  The user's systemd is asked over the user's bus with libsystemd's sd-bus, by a child: the library is loaded
 * when it is needed and never into llmsbx, which links libc only, and whatever hangs there (the bus, systemd, the loading of a
 * library) ends with the child at one deadline.  The child names its parent by pid, so it makes sure first that the bus counts
 * processes as we do: elsewhere the number is another process.
 *
 * The declarations are those of sd-bus(3) and the pages it names, of systemd 221 and newer; no header of it is needed to build.
 */
#include "lib/local/scope.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/base/fd.h"
#include "lib/proc/owner.h"

/* systemd answers in milliseconds; a machine that is still starting up needs longer. */
#define ANSWER_NS (UINT64_C(5) * 1000000000)

static const char library[] = "libsystemd.so.0";

/* The child's word for success. */
static const char yes[] = "+";

typedef struct sd_bus sd_bus;
typedef struct sd_bus_message sd_bus_message;
typedef struct {
	const char *name, *message;
	int need_free;
} sd_bus_error;

/* What is used of the library, in the order of names below. */
struct sd {
	int (*open_user)(sd_bus **ret);
	int (*get_unique_name)(sd_bus *bus, const char **ret);
	int (*call_method)(sd_bus *bus, const char *service, const char *path,
			   const char *interface, const char *member, sd_bus_error *error,
			   sd_bus_message **reply, const char *types, ...);
	int (*message_read)(sd_bus_message *m, const char *types, ...);
	int (*match)(sd_bus *bus, void **slot, const char *match,
		     int (*callback)(sd_bus_message *m, void *userdata, sd_bus_error *error),
		     void *userdata);
	int (*process)(sd_bus *bus, sd_bus_message **ret);
	int (*wait)(sd_bus *bus, uint64_t timeout_us);
};

static const char *const names[] = {
	"sd_bus_open_user", "sd_bus_get_unique_name", "sd_bus_call_method", "sd_bus_message_read",
	"sd_bus_add_match", "sd_bus_process",         "sd_bus_wait",
};

/* The end of a job of systemd's. */
struct job {
	const struct sd *sd;
	const char *path; /* of ours; NULL: not known yet */
	bool over, done;
};

static bool load(struct sd *sd, char *why)
{
	void *symbol, *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	for (size_t i = 0; i < SBX_ARRAY_SIZE(names); i++) {
		symbol = handle ? dlsym(handle, names[i]) : NULL;
		if (!symbol) {
			(void)snprintf(why, SBX_SCOPE_WHY_MAX,
				       handle ? "%s has no %s" : "%s is not installed", library,
				       names[i]);
			return false;
		}
		memcpy((char *)sd + i * sizeof(symbol), &symbol, sizeof(symbol));
	}
	return true;
}

/* Says what failed: in the words of who answered, else in the system's. */
static bool refused(char *why, const char *what, int num, const sd_bus_error *error)
{
	(void)snprintf(why, SBX_SCOPE_WHY_MAX, "%s: %s", what,
		       error && error->message ? error->message : sbx_strerror(-num));
	return false;
}

/* Whether this process has the same number for the bus as for itself. */
static bool same_pids(const struct sd *sd, sd_bus *bus, char *why)
{
	sd_bus_message *reply = NULL;
	sd_bus_error error = {.name = NULL};
	const char *name = NULL;
	uint32_t pid = 0;
	int r = sd->get_unique_name(bus, &name);

	if (r >= 0)
		r = sd->call_method(bus, "org.freedesktop.DBus", "/org/freedesktop/DBus",
				    "org.freedesktop.DBus", "GetConnectionUnixProcessID", &error,
				    &reply, "s", name);
	if (r >= 0)
		r = sd->message_read(reply, "u", &pid);
	if (r < 0)
		return refused(why, "the user bus does not answer", r, &error);
	if (pid == (uint32_t)getpid())
		return true;
	(void)snprintf(why, SBX_SCOPE_WHY_MAX, "the user bus is of another pid namespace");
	return false;
}

static int job_removed(sd_bus_message *m, void *userdata, sd_bus_error *error SBX_UNUSED)
{
	struct job *job = (struct job *)userdata;
	const char *path, *unit, *result;
	uint32_t id;

	if (job->sd->message_read(m, "uoss", &id, &path, &unit, &result) >= 0 && job->path &&
	    strcmp(path, job->path) == 0) {
		job->over = true;
		job->done = strcmp(result, "done") == 0;
	}
	return 0;
}

static bool start_scope(const struct sd *sd, sd_bus *bus, pid_t pid, const char *unit, char *why)
{
	static const char match[] =
		"type='signal',sender='org.freedesktop.systemd1',"
		"path='/org/freedesktop/systemd1',"
		"interface='org.freedesktop.systemd1.Manager',member='JobRemoved'";
	struct job job = {.sd = sd};
	sd_bus_error error = {.name = NULL};
	sd_bus_message *reply = NULL;
	int r;

	/* Before the call: the job may be over before its answer is read. */
	r = sd->match(bus, NULL, match, job_removed, &job);
	if (r >= 0)
		r = sd->call_method(bus, "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
				    "org.freedesktop.systemd1.Manager", "StartTransientUnit",
				    &error, &reply, "ssa(sv)a(sa(sv))", unit, "fail", 5,
				    "Description", "s", "llmsbx", "PIDs", "au", 1, (uint32_t)pid,
				    "Delegate", "b", 1, "TasksMax", "t", UINT64_MAX, "CollectMode",
				    "s", "inactive-or-failed", 0);
	if (r >= 0)
		r = sd->message_read(reply, "o", &job.path);
	/* The call put aside what came before its answer; it is processed here. */
	while (r >= 0 && !job.over) {
		r = sd->process(bus, NULL);
		if (r == 0)
			r = sd->wait(bus, UINT64_MAX);
	}
	if (r < 0)
		return refused(why, "systemd gives no scope", r, &error);
	if (!job.done)
		(void)snprintf(why, SBX_SCOPE_WHY_MAX, "systemd could not start the scope");
	return job.done;
}

static bool ask(pid_t pid, const char *unit, char *why)
{
	sd_bus *bus = NULL;
	struct sd sd;
	int r;

	if (!load(&sd, why))
		return false;
	r = sd.open_user(&bus);
	if (r < 0)
		return refused(why, "no user bus", r, NULL);
	return same_pids(&sd, bus, why) && start_scope(&sd, bus, pid, unit, why);
}

static void be_child(pid_t parent, const char *unit, int fd) SBX_NORETURN;
static void be_child(pid_t parent, const char *unit, int fd)
{
	char why[SBX_SCOPE_WHY_MAX] = "";

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (ask(parent, unit, why))
		(void)snprintf(why, sizeof(why), "%s", yes);
	_exit(write(fd, why, strlen(why)) < 0);
}

/* What the child says before it ends, or before time is up. */
static bool hear(int fd, pid_t child, char *why)
{
	uint64_t deadline = sbx_deadline(ANSWER_NS);
	struct pollfd p = {.fd = fd, .events = POLLIN};
	ssize_t n = 0;
	int r;

	do
		r = poll(&p, 1, sbx_poll_ms(deadline));
	while (r < 0 && errno == EINTR);
	if (r > 0)
		n = read(fd, why, SBX_SCOPE_WHY_MAX - 1);
	(void)kill(child, SIGKILL);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	if (n > 0)
		why[n] = '\0';
	else
		(void)snprintf(why, SBX_SCOPE_WHY_MAX, "the user's systemd does not answer");
	return strcmp(why, yes) == 0;
}

bool sbx_scope_enter(char why[SBX_SCOPE_WHY_MAX])
{
	SBX_CLEANUP(sbx_closep) int read_end = -1, write_end = -1;
	char name[SBX_OWNER_NAME_MAX], unit[SBX_OWNER_NAME_MAX + 8];
	struct sbx_err err = SBX_ERR_INIT;
	pid_t child, self = getpid();
	int fds[2];

	if (sbx_owner_name(name, 0, &err) < 0) {
		(void)snprintf(why, SBX_SCOPE_WHY_MAX, "%.*s", SBX_SCOPE_WHY_MAX - 1, err.msg);
		return false;
	}
	(void)snprintf(unit, sizeof(unit), "%s.scope", name);
	if (pipe2(fds, O_CLOEXEC) < 0)
		return refused(why, "cannot make a pipe", -errno, NULL);
	read_end = fds[0];
	write_end = fds[1];
	child = fork();
	if (child < 0)
		return refused(why, "cannot start a process", -errno, NULL);
	if (child == 0)
		be_child(self, unit, write_end);
	sbx_closep(&write_end);
	return hear(read_end, child, why);
}
