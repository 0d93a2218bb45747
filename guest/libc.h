/* What differs between the C libraries that the guest may be linked with: musl, where it was found, else the system's. */
#pragma once

#include <sys/resource.h>

#ifdef __GLIBC__
typedef __rlimit_resource_t libc_resource;
typedef unsigned long libc_ioctl;
#else
typedef int libc_resource;
typedef int libc_ioctl;
#endif
