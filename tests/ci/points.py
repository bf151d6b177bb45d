#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The cancellation guard (tests/behaviour/guarded/points.c) stands before every cancellation point that can be reached.

    points.py POINTS_C LIBRARY [NAME...]

What LIBRARY and the libraries with these names (libfabric, which is loaded at run time) import from the C library is compared
with the lists of pthreads(7).  NAMEs that are not installed are left out.
"""
import ctypes
import pathlib
import re
import subprocess
import sys

# Required by POSIX, or allowed; the wide-character functions, databases of users, traces and STREAMS left out.
LISTED = set("""
accept aio_suspend clock_nanosleep close connect creat fcntl fdatasync fsync lockf mq_receive mq_send mq_timedreceive
mq_timedsend msgrcv msgsnd msync nanosleep open openat pause poll pread pselect pthread_cond_timedwait pthread_cond_wait
pthread_join pthread_testcancel pwrite read readv recv recvfrom recvmsg select sem_timedwait sem_wait send sendmsg sendto
sigpause sigsuspend sigtimedwait sigwait sigwaitinfo sleep system tcdrain usleep wait waitid waitpid write writev
closedir closelog dprintf fclose fflush fgetc fgetpos fgets fopen fprintf fputc fputs fread freopen fscanf fseek fseeko fsetpos
ftell ftello ftw getaddrinfo getc getchar getdelim gethostbyaddr gethostbyname getline getnameinfo getservbyname
getservbyport glob lio_listio mkdtemp mkstemp nftw opendir openlog pclose perror popen posix_fallocate posix_spawn
posix_spawnp printf psiginfo psignal putc putchar puts readdir readdir_r rewind scandir scanf syslog tmpfile vdprintf
vfprintf vprintf wordexp
accept4 epoll_pwait epoll_pwait2 epoll_wait getifaddrs getrandom ppoll preadv preadv2 pwritev pwritev2 recvmmsg sendmmsg
sem_clockwait pthread_cond_clockwait
""".split())
# What pthreads(7) allows to be one besides, and the C libraries of Linux have made none: system calls that do not wait
# (access, fstat, ioctl, lseek, readlink, rename, stat, unlink ...), time zones, locales, pthread_rwlock_*, dlopen.


def plain(symbol):
    """The name in the list: __read_chk is read, open64 is open, __isoc99_fscanf is fscanf."""
    symbol = re.sub(r"^__(isoc\d+_)?", "", symbol)
    symbol = re.sub(r"(_chk|_2)$", "", symbol)
    return symbol if symbol in LISTED else symbol.removesuffix("64")


def imported(library):
    lines = subprocess.run(["nm", "-D", "--undefined-only", library], stdout=subprocess.PIPE, text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in lines.splitlines()}


def path_of(name):
    """Where the loader finds it, or None."""
    try:
        ctypes.CDLL(name)
    except OSError:
        return None
    for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
        path = line.split()[-1]
        if pathlib.Path(path).name.startswith(name):
            return path
    return None


def main(points, library, *names):
    text = pathlib.Path(points).read_text()
    guarded = set(re.findall(r"^POINT\([^,]*, (\w+),", text, re.M)) | set(re.findall(r'^POINT_NAMED\([^"]*"(\w+)"', text, re.M))
    guarded |= set(re.findall(r'__asm__\("(\w+)"\)', text))
    missing = 0
    for path in [library, *filter(None, map(path_of, names))]:
        for symbol in sorted(imported(path)):
            if plain(symbol) in LISTED and symbol not in guarded:
                print(f"{path} imports {symbol}, before which {points} does not stand")
                missing += 1
    return missing > 0


sys.exit(main(*sys.argv[1:]))
