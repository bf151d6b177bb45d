/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A launched process that has done with Portals and forks: the child is not the process that was launched, and must not
 * take leave of the launcher for it, which never ends there.  The parent goes on as what it was.
 */
#include <portals3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATIENCE 60 /* s */

static int open_and_close(void)
{
	int interfaces;
	ptl_handle_ni_t ni;

	if (PtlInit(&interfaces) || PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni))
		return 1;
	PtlFini();
	return 0;
}

int main(void)
{
	int status = 0;

	if (open_and_close())
		return 1;
	pid_t child = fork();
	if (child == 0) {
		alarm(PATIENCE);
		exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
		fprintf(stderr, "the child ended with status 0x%x\n", (unsigned)status);
		return 1;
	}
	return open_and_close();
}
