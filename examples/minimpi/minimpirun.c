/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * minimpirun -n N [--fork] PROGRAM [ARGUMENT...]
 *
 * Starts N processes of a job: through a launcher that speaks PMIx if there is one (srun within an allocation of Slurm, else
 * mpirun), otherwise, and with --fork, itself, on this node.  It ends with the status of the first process that fails, and
 * then the others are killed.
 *
 * Without a launcher the environment says which process is which rank: PTL_MY_RID, PTL_NIDMAP and PTL_PIDMAP.  The pids are
 * those of Unix, so the processes are made first, and wait at a pipe until the list of all is complete.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct arguments {
	int processes;
	bool forks;
	char **program;
};

static _Noreturn void misuse(void)
{
	fputs("usage: minimpirun -n N [--fork] PROGRAM [ARGUMENT...]\n", stderr);
	exit(2);
}

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "minimpirun: %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct arguments read_arguments(char **argv)
{
	struct arguments arguments = {1, false, NULL};
	for (argv++; *argv && **argv == '-'; argv++) {
		if (strcmp(*argv, "--fork") == 0)
			arguments.forks = true;
		else if ((strcmp(*argv, "-n") == 0 || strcmp(*argv, "-np") == 0) && argv[1])
			arguments.processes = (int)strtol(*++argv, NULL, 10);
		else
			misuse();
	}
	arguments.program = argv;
	if (arguments.processes < 1 || !*argv)
		misuse();
	return arguments;
}

/* ---- a launcher ---- */

static void try_launcher(const struct arguments *arguments)
{
	char count[16];
	int extra = 0;
	char *words[16];
	snprintf(count, sizeof(count), "%d", arguments->processes);
	if (getenv("SLURM_JOB_ID")) {
		words[extra++] = "srun";
		words[extra++] = "--mpi=pmix";
	} else {
		words[extra++] = "mpirun";
		words[extra++] = "--oversubscribe";
		if (geteuid() == 0)
			words[extra++] = "--allow-run-as-root";
	}
	words[extra++] = "-n";
	words[extra++] = count;
	size_t rest = 0;
	while (arguments->program[rest])
		rest++;
	char **all = malloc(((size_t)extra + rest + 1) * sizeof(*all));
	if (!all)
		die("malloc");
	memcpy(all, words, (size_t)extra * sizeof(*all));
	memcpy(all + extra, arguments->program, (rest + 1) * sizeof(*all));
	execvp(all[0], all);
	free(all); /* there is none */
}

/* ---- by itself ---- */

/* The nid: the IPv4 address of PTL_IFACE, by default the loopback's, in host byte order. */
static unsigned find_nid(void)
{
	struct ifaddrs *list;
	struct in_addr address;
	unsigned nid = 0;
	setenv("PTL_IFACE", "lo", 0);
	const char *name = getenv("PTL_IFACE");
	if (!name)
		die("setenv");
	if (inet_pton(AF_INET, name, &address) == 1)
		return ntohl(address.s_addr);
	if (getifaddrs(&list) != 0)
		die("getifaddrs");
	for (const struct ifaddrs *entry = list; entry && !nid; entry = entry->ifa_next)
		if (entry->ifa_addr && entry->ifa_addr->sa_family == AF_INET && strcmp(entry->ifa_name, name) == 0)
			nid = ntohl(((struct sockaddr_in *)(void *)entry->ifa_addr)->sin_addr.s_addr);
	freeifaddrs(list);
	if (!nid) {
		fprintf(stderr, "minimpirun: PTL_IFACE=%s has no IPv4 address\n", name);
		exit(1);
	}
	return nid;
}

/* The i-th process: waits for the list of pids, one line, then becomes the program. */
static _Noreturn void become_program(const struct arguments *arguments, int rank, int list, unsigned nid)
{
	const size_t room = 12 * (size_t)arguments->processes + 1;
	char *pids = malloc(room), *nids = malloc(room), number[16];
	size_t got = 0, used = 0;
	ssize_t more;
	if (!pids || !nids)
		die("malloc");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while ((more = read(list, pids + got, room - 1 - got)) > 0)
		got += (size_t)more;
	close(list);
	pids[got] = '\0';
	if (got == 0)
		_exit(1); /* the launcher is gone */
	for (int i = 0; i < arguments->processes; i++)
		used += (size_t)snprintf(nids + used, room - used, "%s%u", i ? ":" : "", nid);
	snprintf(number, sizeof(number), "%d", rank);
	setenv("PTL_MY_RID", number, 1);
	setenv("PTL_NIDMAP", nids, 1);
	setenv("PTL_PIDMAP", pids, 1);
	execvp(arguments->program[0], arguments->program);
	die(arguments->program[0]);
}

struct child {
	pid_t pid;
	int list; /* end of the pipe through which it gets the pids */
};

static struct child *start(const struct arguments *arguments, unsigned nid)
{
	struct child *children = malloc((size_t)arguments->processes * sizeof(*children));
	if (!children)
		die("malloc");
	for (int i = 0; i < arguments->processes; i++) {
		int ends[2];
		if (pipe(ends) != 0)
			die("pipe");
		children[i] = (struct child){fork(), ends[1]};
		if (children[i].pid < 0)
			die("fork");
		if (children[i].pid == 0) {
			for (int k = 0; k <= i; k++)
				close(children[k].list);
			become_program(arguments, i, ends[0], nid);
		}
		close(ends[0]);
	}
	return children;
}

static void tell_pids(const struct child *children, int count)
{
	for (int i = 0; i < count; i++) {
		FILE *list = fdopen(children[i].list, "w");
		for (int k = 0; k < count; k++)
			fprintf(list, "%s%d", k ? ":" : "", (int)children[k].pid);
		fclose(list);
	}
}

static int status_of(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* One that fails takes the others along: they would wait for it. */
static int reap(struct child *children, int count)
{
	int result = 0, status;
	for (int left = count; left > 0; left--) {
		const pid_t pid = wait(&status);
		if (pid < 0)
			die("wait");
		for (int i = 0; i < count; i++)
			if (children[i].pid == pid)
				children[i].pid = 0; /* the number may be another process's by now */
		if (status_of(status) == 0 || result != 0)
			continue;
		result = status_of(status);
		for (int i = 0; i < count; i++)
			if (children[i].pid > 0)
				kill(children[i].pid, SIGKILL);
	}
	return result;
}

int main(int argc, char **argv)
{
	(void)argc;
	const struct arguments arguments = read_arguments(argv);
	if (!arguments.forks)
		try_launcher(&arguments);
	signal(SIGPIPE, SIG_IGN);
	struct child *children = start(&arguments, find_nid());
	tell_pids(children, arguments.processes);
	const int result = reap(children, arguments.processes);
	free(children);
	return result;
}
