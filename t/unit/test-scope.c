/* A user's bus that is not there, or does not answer; one that does is in t/7100-vm.bats. */
#include "lib/local/scope.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/buf.h"
#include "lib/base/fd.h"
#include "t/unit/tap.h"

/* Asks for a scope and gets none: nothing has changed then, and nothing is left. */
static void ok_refused(const char *address, const char *words, struct sbx_err *err)
{
	struct sbx_buf before = SBX_BUF_INIT(65536), after = SBX_BUF_INIT(65536);
	char why[SBX_SCOPE_WHY_MAX] = "";

	ok(setenv("DBUS_SESSION_BUS_ADDRESS", address, 1) == 0);
	ok_call(sbx_read_file("/proc/self/cgroup", &before, err));
	ok(!sbx_scope_enter(why));
	ok_call(sbx_read_file("/proc/self/cgroup", &after, err));
	ok_str(sbx_buf_str(&after), sbx_buf_str(&before));
	/* A machine without the library says so in each case. */
	if (!strstr(why, words))
		ok_str(why, "libsystemd.so.0 is not installed");
	ok(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	sbx_buf_release(&before);
	sbx_buf_release(&after);
}

TEST(no_bus)
{
	ok_refused("unix:path=/nonexistent/bus", "no user bus: ", err);
}

TEST(no_address)
{
	ok_refused("nonsense", "no user bus: ", err);
}

TEST(a_bus_that_never_answers)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	char top[] = "/tmp/test-scope-XXXXXX", address[128];
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ok(mkdtemp(top) != NULL);
	(void)snprintf(name.sun_path, sizeof(name.sun_path), "%s/bus", top);
	(void)snprintf(address, sizeof(address), "unix:path=%s/bus", top);
	ok(bind(fd, (struct sockaddr *)&name, sizeof(name)) == 0 && listen(fd, 1) == 0);
	ok_refused(address, "the user's systemd does not answer", err);
	(void)close(fd);
	ok(unlink(name.sun_path) == 0 && rmdir(top) == 0);
}

TAP_MAIN(RUN(no_bus), RUN(no_address), RUN(a_bus_that_never_answers))
