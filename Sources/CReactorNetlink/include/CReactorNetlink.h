// The kernel's messages about links, addresses and routes (man 7 rtnetlink), which Swift's Glibc module leaves out.
#ifndef C_REACTOR_NETLINK_H
#define C_REACTOR_NETLINK_H

#if defined(__linux__) && __has_include(<linux/rtnetlink.h>)
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#endif

#endif
