/* Compiler attributes and the ownership helpers that every unit uses. */
#pragma once

#include <stddef.h>

#define SBX_MUST_USE           __attribute__((warn_unused_result))
#define SBX_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#define SBX_NORETURN           __attribute__((noreturn))
#define SBX_UNUSED             __attribute__((unused))

/* Runs fn(&variable) when the variable's scope is left. */
#define SBX_CLEANUP(fn) __attribute__((cleanup(fn)))

#define SBX_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Hands a pointer over: yields its value and leaves NULL, so that its cleanup does nothing. */
#define SBX_TAKE(p)                         \
	(__extension__({                    \
		__typeof__(p) taken_ = (p); \
		(p) = NULL;                 \
		taken_;                     \
	}))

/* The same for a file descriptor, which leaves -1. */
#define SBX_TAKE_FD(fd)            \
	(__extension__({           \
		int taken_ = (fd); \
		(fd) = -1;         \
		taken_;            \
	}))
