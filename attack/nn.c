/* NN: no network. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attack/attack.h"

enum { KNOCK_MS = 500 };

/* An address as text, with a port; 0 when it is none. */
static socklen_t fill(struct sockaddr_storage *to, const char *text, uint16_t port)
{
	struct sockaddr_in in4 = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

	if (inet_pton(AF_INET, text, &in4.sin_addr) == 1) {
		memcpy(to, &in4, sizeof(in4));
		return sizeof(in4);
	}
	if (inet_pton(AF_INET6, text, &in6.sin6_addr) == 1) {
		memcpy(to, &in6, sizeof(in6));
		return sizeof(in6);
	}
	return 0;
}

static bool is_loopback(const char *address)
{
	return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
}

/* A connect of UDP sends nothing and asks the routes; one of TCP would send. */
static void must_not_connect(struct attack *a, const char *address, uint16_t port, int type)
{
	static const int unreachable[] = {ENETUNREACH,  EHOSTUNREACH, EADDRNOTAVAIL,
					  ECONNREFUSED, ENETDOWN,     0};
	struct sockaddr_storage to = {.ss_family = AF_UNSPEC};
	socklen_t len = fill(&to, address, port);
	int fd = socket(to.ss_family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	long rc = fd < 0 ? -1 : connect(fd, (struct sockaddr *)&to, len);
	int num = 0;
	socklen_t n = sizeof(num);

	/* Only loopback can be asked by a handshake that goes on: elsewhere one that has begun had a way to go. */
	if (rc < 0 && errno == EINPROGRESS && is_loopback(address) && poll(&p, 1, 1000) == 1 &&
	    getsockopt(fd, SOL_SOCKET, SO_ERROR, &num, &n) == 0) {
		rc = num == 0 ? 0 : -1;
		errno = num;
	}
	must_fail_or(a, address, rc, unreachable);
	if (fd >= 0)
		close(fd);
}

/* A handshake is tried only where a datagram found no way, so that nothing is ever sent to anybody. */
static void must_have_no_route(struct attack *a, const char *address, uint16_t port)
{
	must_not_connect(a, address, port, SOCK_DGRAM);
	if (a->verdict != REACHED)
		must_not_connect(a, address, port, SOCK_STREAM);
}

static void nn01(struct attack *a)
{
	struct if_nameindex *names = if_nameindex();

	if (!names)
		must_fail(a, "if_nameindex", -1);
	for (struct if_nameindex *n = names; n && n->if_index; n++)
		must_hold(a, strcmp(n->if_name, "lo") == 0, "interface %s", n->if_name);
	if (names)
		if_freenameindex(names);
	must_have_no_route(a, "192.0.2.1", 9);
	must_have_no_route(a, "2001:db8::1", 9);
}

static void nn02(struct attack *a)
{
	static const char *const metadata[] = {"169.254.169.254", "fd00:ec2::254",
					       "100.100.100.200", "168.63.129.16",
					       "169.254.170.2",   "192.0.0.192"};

	for (size_t i = 0; i < LENGTH(metadata); i++)
		must_have_no_route(a, metadata[i], 80);
}

static void nn03(struct attack *a)
{
	if (a->plant->port4 == 0 && a->plant->port6 == 0) {
		say(a, UNKNOWN, "the host has no listener");
		return;
	}
	if (a->plant->port4)
		must_not_connect(a, "127.0.0.1", (uint16_t)a->plant->port4, SOCK_STREAM);
	if (a->plant->port6)
		must_not_connect(a, "::1", (uint16_t)a->plant->port6, SOCK_STREAM);
}

static void nn04(struct attack *a)
{
	static const char *const gateways[] = {"10.0.2.2",       "10.0.2.3",   "169.254.1.2",
					       "172.17.0.1",     "10.88.0.1",  "192.168.65.7",
					       "192.168.65.254", "192.168.5.2"};
	char hosts[16384];

	for (size_t i = 0; i < LENGTH(gateways); i++)
		must_have_no_route(a, gateways[i], 2375);
	if (read_text("/etc/hosts", hosts, sizeof(hosts)) < 0)
		return;
	must_hold(a,
		  !strstr(hosts, "host.docker.internal") &&
			  !strstr(hosts, "host.containers.internal"),
		  "/etc/hosts names no host");
}

static void nn05(struct attack *a)
{
	char text[4096];
	ssize_t n = read_text("/etc/resolv.conf", text, sizeof(text));
	struct sockaddr_storage to = {.ss_family = AF_UNSPEC};
	socklen_t len = fill(&to, "127.0.0.11", 53);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (n < 0)
		must_fail(a, "/etc/resolv.conf", -1);
	else
		must_hold(a, !strstr(text, "nameserver"), "no name server is named");
	/* Loopback is our own: a datagram goes, and the error of a closed port comes back. */
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, len) == 0 && send(fd, "x", 1, 0) == 1) {
		sleep_ms(20);
		must_hold(a, send(fd, "x", 1, 0) < 0 && errno == ECONNREFUSED,
			  "nobody answers at 127.0.0.11");
	} else {
		say(a, REFUSED, "%s", error_name(errno));
	}
	if (fd >= 0)
		close(fd);
}

/* A request that changes something, with the kernel's answer as errno. */
static int ask_kernel(uint16_t type, uint16_t flags, const void *body, size_t n)
{
	struct {
		struct nlmsghdr head;
		char body[256];
	} ask = {.head = {.nlmsg_type = type,
			  .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags)}};
	struct {
		struct nlmsghdr head;
		struct nlmsgerr err;
	} answer;
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	int num = errno;

	if (fd < 0)
		return num;
	ask.head.nlmsg_len = (uint32_t)NLMSG_LENGTH(n);
	memcpy(NLMSG_DATA(&ask.head), body, n);
	num = EIO;
	if (send(fd, &ask, ask.head.nlmsg_len, 0) > 0 &&
	    recv(fd, &answer, sizeof(answer), 0) >= (ssize_t)sizeof(answer) &&
	    answer.head.nlmsg_type == NLMSG_ERROR)
		num = -answer.err.error;
	close(fd);
	return num;
}

static void nn06(struct attack *a)
{
	struct ifinfomsg link = {.ifi_index = 1, .ifi_change = IFF_UP};
	struct ifaddrmsg addr = {.ifa_family = AF_INET, .ifa_prefixlen = 24, .ifa_index = 1};
	struct rtmsg route = {
		.rtm_family = AF_INET, .rtm_table = RT_TABLE_MAIN, .rtm_type = RTN_UNICAST};
	const struct {
		const char *what;
		uint16_t type, flags;
		const void *body;
		size_t n;
	} asks[] = {
		{"RTM_NEWLINK", RTM_NEWLINK, NLM_F_CREATE, &link, sizeof(link)},
		{"RTM_NEWADDR", RTM_NEWADDR, NLM_F_CREATE, &addr, sizeof(addr)},
		{"RTM_NEWROUTE", RTM_NEWROUTE, NLM_F_CREATE, &route, sizeof(route)},
	};

	for (size_t i = 0; i < LENGTH(asks); i++) {
		errno = ask_kernel(asks[i].type, asks[i].flags, asks[i].body, asks[i].n);
		must_fail(a, asks[i].what, errno == 0 ? 0 : -1);
	}
}

static void nn07(struct attack *a)
{
	static char text[64 << 10]; /* a busy host has many sockets */
	int fd = socket(40 /* AF_VSOCK */, SOCK_STREAM | SOCK_CLOEXEC, 0);

	must_fail(a, "AF_VSOCK", fd);
	if (fd >= 0)
		close(fd);
	if (read_text("/proc/self/net/unix", text, sizeof(text)) < 0)
		must_fail(a, "/proc/self/net/unix", -1);
	else
		must_hold(a, !strstr(text, a->plant->abstract) && !strstr(text, a->plant->socket),
			  "sockets of the host are not listed");
}

/* Which it is, the host compares. */
static void nn08(struct attack *a)
{
	char target[64] = "";

	if (readlink("/proc/self/ns/net", target, sizeof(target) - 1) < 0)
		must_fail(a, "/proc/self/ns/net", -1);
	else
		tell(a, "netns", "%s", target);
	say(a, CONTAINED, "%s", target);
}

static void nn09(struct attack *a)
{
	struct sockaddr_in any = {.sin_family = AF_INET};
	socklen_t len = sizeof(any);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct pollfd p = {.fd = fd, .events = POLLIN};

	if (fd < 0 || bind(fd, (struct sockaddr *)&any, len) < 0 || listen(fd, 4) < 0 ||
	    getsockname(fd, (struct sockaddr *)&any, &len) < 0) {
		say(a, UNKNOWN, "listening does not work: %s", error_name(errno));
		return;
	}
	tell(a, "port", "%u", ntohs(any.sin_port));
	must_hold(a, poll(&p, 1, KNOCK_MS) == 0, "the host knocked in vain");
	close(fd);
}

static void nn11(struct attack *a)
{
	struct sockaddr_in here = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(here);
	int pair[2], fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), to;
	char byte = 'x';

	must_work(a,
		  fd >= 0 && bind(fd, (struct sockaddr *)&here, len) == 0 && listen(fd, 1) == 0 &&
			  getsockname(fd, (struct sockaddr *)&here, &len) == 0,
		  "listen");
	to = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must_work(a, connect(to, (struct sockaddr *)&here, len) == 0, "connect over loopback");
	must_work(a,
		  socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0 &&
			  write(pair[0], &byte, 1) == 1 && read(pair[1], &byte, 1) == 1,
		  "a socket pair");
}

const struct probe nn_probes[] = {
	{"NN01", nn01},
	{"NN02", nn02},
	{"NN03", nn03},
	{"NN04", nn04},
	{"NN05", nn05},
	{"NN06", nn06},
	{"NN07", nn07},
	{"NN08", nn08},
	{"NN09", nn09},
	{"NN11", nn11},
	{0},
};
