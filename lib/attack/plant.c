#include "lib/attack/plant.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/base/err.h"
#include "lib/base/fd.h"
#include "lib/base/rand.h"

static void plant_flag(struct sbx_plant *p, const char *dir)
{
	struct sbx_err ignored = SBX_ERR_INIT; /* a folder that we may not write to has no flag */
	char *path;
	int fd;

	if (!dir || !*dir || p->n_flags == SBX_PLANT_FLAGS)
		return;
	path = p->flags[p->n_flags];
	(void)snprintf(path, SBX_PLANT_PATH, "%s/.llmsbx-flag-%s", dir, p->flag);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0)
		return;
	if (sbx_write_full(fd, p->flag, SBX_NONCE, &ignored) == 0)
		p->n_flags++;
	else
		(void)unlink(path);
	close(fd);
}

static int listen_at(const struct sockaddr *addr, socklen_t len)
{
	int fd = socket(addr->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	if (bind(fd, addr, len) < 0 || listen(fd, 16) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static void plant_sockets(struct sbx_plant *p)
{
	struct sockaddr_in in4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	socklen_t len4 = sizeof(in4), len6 = sizeof(in6);
	int n;

	p->listener[0] = listen_at((struct sockaddr *)&in4, len4);
	if (p->listener[0] >= 0 && getsockname(p->listener[0], (struct sockaddr *)&in4, &len4) == 0)
		p->port4 = ntohs(in4.sin_port);
	p->listener[1] = listen_at((struct sockaddr *)&in6, len6);
	if (p->listener[1] >= 0 && getsockname(p->listener[1], (struct sockaddr *)&in6, &len6) == 0)
		p->port6 = ntohs(in6.sin6_port);
	(void)snprintf(p->abstract, sizeof(p->abstract), "llmsbx-%s", p->flag);
	n = snprintf(un.sun_path + 1, sizeof(un.sun_path) - 1, "%s", p->abstract);
	p->listener[2] =
		listen_at((struct sockaddr *)&un,
			  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n));
	(void)snprintf(p->socket, sizeof(p->socket), "%.200s/socket", p->folder);
	n = snprintf(un.sun_path, sizeof(un.sun_path), "%s", p->socket);
	if (n > 0 && (size_t)n < sizeof(un.sun_path))
		p->listener[3] = listen_at((struct sockaddr *)&un, sizeof(un));
}

static void plant_ipc(struct sbx_plant *p)
{
	/* 25 random bits of the flag's characters, of five each. */
	for (unsigned int i = 0; i < 5; i++)
		p->key = p->key << 5 | (p->flag[i] & 31);
	p->shm = shmget(p->key, 4096, IPC_CREAT | IPC_EXCL | 0666);
	p->sem = semget(p->key, 1, IPC_CREAT | IPC_EXCL | 0666);
	p->msg = msgget(p->key, IPC_CREAT | IPC_EXCL | 0666);
}

/* What a careless caller leaves behind for its children. */
static void leak(struct sbx_plant *p)
{
	char pid[24];
	int fd = open(p->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0) {
		p->leaked[0] = fcntl(fd, F_DUPFD, 3);
		p->leaked[1] = fcntl(fd, F_DUPFD, 9);
		close(fd);
	}
	(void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
	(void)setenv("LLMSBX_CANARY", p->flag, 1);
	(void)setenv("LISTEN_FDS", "1", 1);
	(void)setenv("LISTEN_PID", pid, 1);
	(void)setenv("NOTIFY_SOCKET", p->socket, 1);
}

int sbx_plant(struct sbx_plant *p, struct sbx_err *err)
{
	const char *base = getenv("TMPDIR");

	*p = (struct sbx_plant){
		.listener = {-1, -1, -1, -1}, .shm = -1, .sem = -1, .msg = -1, .leaked = {-1, -1}};
	sbx_random_id(p->nonce, SBX_NONCE);
	sbx_random_id(p->flag, SBX_NONCE);
	sbx_random_id(p->mark, SBX_NONCE);
	(void)snprintf(p->folder, sizeof(p->folder), "%s/llmsbx-attack-XXXXXX",
		       base && *base == '/' ? base : "/tmp");
	if (!mkdtemp(p->folder))
		return sbx_fail_sys(err, errno, "cannot make a folder for canaries: '%s'",
				    p->folder);
	plant_flag(p, "/run");
	plant_flag(p, getenv("XDG_RUNTIME_DIR"));
	plant_flag(p, getenv("HOME"));
	plant_flag(p, "/tmp");
	plant_flag(p, "/var/tmp");
	plant_flag(p, "/dev/shm");
	plant_flag(p, p->folder);
	plant_sockets(p);
	plant_ipc(p);
	leak(p);
	return 0;
}

unsigned int sbx_plant_visits(const struct sbx_plant *p, unsigned int i)
{
	unsigned int n = 0;
	int fd;

	while (p->listener[i] >= 0 &&
	       (fd = accept4(p->listener[i], NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		close(fd);
		n++;
	}
	return n;
}

/* A folder and all in it, by descriptors: names in it came from hostile programs. */
static void remove_below(int at, const char *name, unsigned int depth)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		if (unlinkat(fd, d->d_name, 0) < 0 && depth > 0)
			remove_below(fd, d->d_name, depth - 1);
	}
	if (dir)
		(void)closedir(dir);
	else
		sbx_close(fd);
	(void)unlinkat(at, name, AT_REMOVEDIR);
}

void sbx_plant_release(struct sbx_plant *p)
{
	for (unsigned int i = 0; i < p->n_flags; i++)
		(void)unlink(p->flags[i]);
	for (unsigned int i = 0; i < SBX_ARRAY_SIZE(p->listener); i++)
		sbx_closep(&p->listener[i]);
	for (unsigned int i = 0; i < SBX_ARRAY_SIZE(p->leaked); i++)
		sbx_closep(&p->leaked[i]);
	if (p->shm >= 0)
		(void)shmctl(p->shm, IPC_RMID, NULL);
	if (p->sem >= 0)
		(void)semctl(p->sem, 0, IPC_RMID);
	if (p->msg >= 0)
		(void)msgctl(p->msg, IPC_RMID, NULL);
	remove_below(AT_FDCWD, p->folder, 64);
	p->n_flags = 0;
	p->shm = p->sem = p->msg = -1;
}
