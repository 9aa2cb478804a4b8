/*
 * The lists are of names, so that one list serves all architectures: a name that the machine does not
 * have is left out. Where arguments decide, only arguments that are passed in registers can be looked at.
 */
#include "edge/process/sandbox.h"

#include <errno.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { IS_SANITIZED = 1 };
#else
enum { IS_SANITIZED = 0 };
#endif

enum { NAME_BYTES = 40 };

/* What the daemon and its libraries use, and what they would use on another kernel or with another libc. */
static const char allowed[] =
    /* memory */
    "brk madvise membarrier mlock mlock2 mremap munlock munmap msync mincore get_mempolicy memfd_create "
    /* threads, signals and time */
    "clock_getres clock_gettime clock_gettime64 clock_nanosleep clock_nanosleep_time64 exit exit_group futex "
    "futex_time64 futex_waitv get_robust_list getitimer gettid gettimeofday nanosleep pause restart_syscall "
    "rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigreturn rt_sigsuspend rt_sigtimedwait "
    "sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr sched_getparam "
    "sched_getscheduler sched_setaffinity sched_setscheduler sched_yield set_robust_list set_tid_address "
    "sigaltstack sigreturn tgkill time times timer_create timer_delete timer_gettime timer_settime "
    "timerfd_create timerfd_gettime timerfd_settime arch_prctl getcpu "
    /* descriptors and polling */
    "close close_range dup dup2 dup3 epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait "
    "epoll_pwait2 epoll_wait epoll_wait_old eventfd eventfd2 fcntl fcntl64 ioctl pipe pipe2 poll ppoll "
    "ppoll_time64 pselect6 pselect6_time64 select "
    /* files */
    "access chdir chmod creat faccessat faccessat2 fadvise64 fadvise64_64 fallocate fchmod fchmodat fchown "
    "fdatasync flock fstat fstat64 fstatat64 fstatfs fstatfs64 fsync ftruncate ftruncate64 getcwd getdents "
    "getdents64 link linkat lseek _llseek lstat lstat64 mkdir mkdirat newfstatat open openat openat2 pread64 "
    "preadv preadv2 pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv rename renameat "
    "renameat2 rmdir stat stat64 statfs statfs64 statx sync_file_range sync syncfs truncate truncate64 umask "
    "unlink unlinkat utimensat utimensat_time64 utimes write writev "
    /* sockets */
    "accept accept4 bind connect getpeername getsockname getsockopt listen recv recvfrom recvmmsg "
    "recvmmsg_time64 recvmsg send sendfile sendfile64 sendmmsg sendmsg sendto setsockopt shutdown socketpair "
    /* about itself */
    "capget getegid getegid32 geteuid geteuid32 getgid getgid32 getgroups getgroups32 getpgid getpgrp getpid "
    "getppid getpriority getrandom getresgid getresgid32 getresuid getresuid32 getrlimit getrusage getsid "
    "getuid getuid32 sysinfo ugetrlimit uname ";

/* What only an intruder would try: other programs, processes, users, and the machine itself. */
static const char forbidden[] =
    "execve execveat fork vfork ptrace process_vm_readv process_vm_writev pidfd_getfd setuid setuid32 setgid "
    "setgid32 setreuid setreuid32 setregid setregid32 setresuid setresuid32 setresgid setresgid32 setfsuid "
    "setfsuid32 setfsgid setfsgid32 setgroups setgroups32 capset chroot pivot_root mount umount umount2 "
    "move_mount open_tree fsopen fsmount mknod mknodat unshare setns bpf perf_event_open userfaultfd "
    "init_module finit_module delete_module kexec_load kexec_file_load reboot swapon swapoff sethostname "
    "setdomainname settimeofday clock_settime clock_settime64 clock_adjtime adjtimex stime keyctl add_key "
    "request_key personality acct quotactl open_by_handle_at lookup_dcookie modify_ldt iopl ioperm vhangup "
    "syslog ";

/* ---- rules ---- */

/* `names` end with blanks. A name that this machine does not have needs no rule. */
static bool add_all(scmp_filter_ctx filter, uint32_t action, const char *names)
{
    bool good = true;
    for (size_t size; *names && good; names += size + 1) {
        char name[NAME_BYTES];
        size = strcspn(names, " ");
        (void)snprintf(name, sizeof name, "%.*s", (int)size, names);
        const int number = seccomp_syscall_resolve_name(name);
        good = number < 0 || seccomp_rule_add(filter, action, number, 0) == 0;
    }
    return good;
}

/* A rule for calls whose argument of that number compares so with `value`, under a mask unless that is 0. */
static bool add_if(scmp_filter_ctx filter, uint32_t action, int number, unsigned argument,
                   enum scmp_compare operation, scmp_datum_t value, scmp_datum_t mask)
{
    const struct scmp_arg_cmp condition = {.arg = argument,
                                           .op = operation,
                                           .datum_a = mask ? mask : value,
                                           .datum_b = mask ? value : 0};
    return seccomp_rule_add_array(filter, action, number, 1, &condition) == 0;
}

/* Addresses of the internet and of the machine, and the questions that resolving names asks the kernel. */
static bool add_sockets(scmp_filter_ctx filter)
{
    static const int families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
    const scmp_datum_t last = AF_NETLINK;
    bool good = true;
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        good &= add_if(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 0, SCMP_CMP_EQ, (scmp_datum_t)families[i], 0);
    /* packets, raw access to other things, and kinds of which nobody knows */
    return good && add_if(filter, SCMP_ACT_KILL_PROCESS, SCMP_SYS(socket), 0, SCMP_CMP_GT, last, 0);
}

/*
 * The flags of clone3 are in memory, where nobody can look at them. It fails like all that has no rule, and libc goes
 * on with clone.
 */
static bool add_threads(scmp_filter_ctx filter)
{
    const scmp_datum_t thread = CLONE_THREAD;
    return add_if(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 0, SCMP_CMP_MASKED_EQ, thread, thread) &&
           add_if(filter, SCMP_ACT_KILL_PROCESS, SCMP_SYS(clone), 0, SCMP_CMP_MASKED_EQ, 0, thread);
}

/* No memory is both written and run. Libraries that are opened late still can be. */
static bool add_memory(scmp_filter_ctx filter)
{
    const scmp_datum_t both = PROT_WRITE | PROT_EXEC, run = PROT_EXEC;
    static const int maps[] = {SCMP_SYS(mmap), SCMP_SYS(mmap2)};
    bool good = true;
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        if (maps[i] < 0)
            continue;
        good &= add_if(filter, SCMP_ACT_KILL_PROCESS, maps[i], 2, SCMP_CMP_MASKED_EQ, both, both);
        good &= add_if(filter, SCMP_ACT_ALLOW, maps[i], 2, SCMP_CMP_MASKED_EQ, 0, both);
        good &= add_if(filter, SCMP_ACT_ALLOW, maps[i], 2, SCMP_CMP_MASKED_EQ, PROT_WRITE, both);
        good &= add_if(filter, SCMP_ACT_ALLOW, maps[i], 2, SCMP_CMP_MASKED_EQ, PROT_EXEC, both);
    }
    return good && add_if(filter, SCMP_ACT_KILL_PROCESS, SCMP_SYS(mprotect), 2, SCMP_CMP_MASKED_EQ, run, run) &&
           add_if(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 2, SCMP_CMP_MASKED_EQ, 0, run);
}

/* Names of threads and of memory, and what is asked; nothing else of a process changes. */
static bool add_process(scmp_filter_ctx filter)
{
    static const int wishes[] = {PR_SET_NAME,     PR_GET_NAME,     PR_SET_VMA,    PR_GET_NO_NEW_PRIVS,
                                 PR_GET_DUMPABLE, PR_CAPBSET_READ, PR_GET_SECCOMP};
    bool good = true;
    for (size_t i = 0; i < sizeof wishes / sizeof wishes[0]; i++)
        good &= add_if(filter, SCMP_ACT_ALLOW, SCMP_SYS(prctl), 0, SCMP_CMP_EQ, (scmp_datum_t)wishes[i], 0);
    /* limits are asked for, and set at the start only */
    return good && add_if(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2, SCMP_CMP_EQ, 0, 0);
}

enum sandbox_state sandbox_enter(void)
{
    if (IS_SANITIZED)
        return SANDBOX_NOT_HERE;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return SANDBOX_FAILED;
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
    if (filter == NULL) {
        errno = ENOMEM;
        return SANDBOX_FAILED;
    }
    /* Refused where the call `seccomp` itself is, as by the filter of a service manager. */
    const int together = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
    bool good = together == 0 &&
                seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS) == 0 &&
                seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2) == 0;
    good = good && add_all(filter, SCMP_ACT_ALLOW, allowed) && add_all(filter, SCMP_ACT_KILL_PROCESS, forbidden) &&
           add_sockets(filter) && add_threads(filter) && add_memory(filter) && add_process(filter);
    const int status = good ? seccomp_load(filter) : together != 0 ? together : -EINVAL;
    seccomp_release(filter);
    if (status == 0)
        return SANDBOX_ON;
    errno = -status;
    return SANDBOX_FAILED;
}
