/* TM: what of time and life needs no run of its own. */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "attack/attack.h"

static void control(struct attack *a)
{
	uint64_t start = now_ms();

	sleep_ms(50);
	must_work(a, now_ms() - start >= 50 && now_ms() - start < 10000, "sleep for 50 ms");
}

/* Whether it had an effect shows in the rows that come after this one, if any do. */
static void tm13(struct attack *a)
{
	for (int i = 0; i < 3; i++)
		(void)kill(1, SIGKILL);
	(void)kill(1, SIGTERM);
	(void)kill(1, SIGSEGV);
	sleep_ms(20);
	say(a, CONTAINED, "SIGKILL, SIGTERM and SIGSEGV to process 1");
}

const struct probe tm_probes[] = {{"TM00", control}, {"TM13", tm13}, {0}};
