/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * By one load a peer finds out that a process is still the one that it met: `thread` holds the id of its NIC thread until the
 * kernel marks it, because that thread ends, or an execve() ends it (base/robust.h).
 *
 * WHICH PROCESSES MAY WRITE IT.  Its owner and the kernel only.  A peer writes to our memory on the strength of this word
 * (node_split.c), so a stray write to a segment, which every peer may write to, must not be able to vouch for a process that has
 * died: the word lies in a memory file of its own, which its owner maps first and then seals (F_SEAL_FUTURE_WRITE): from then on it
 * can neither be mapped for writing, nor written to, nor punched, through whichever descriptor, also by a child of the owner, which
 * does not inherit the mapping.  Linux before 5.1 has no such seal: there nothing vouches.  What is left are writes into the owner
 * itself: a peer that attaches to it may do anything to it anyway, and it is the same user's.
 *
 * WHY THE KERNEL DOES WRITE IT.  To mark the word it reads the thread's list and writes the word, and does neither if a page is not
 * there and cannot be had, because no memory is left.  So both lie in this page, which is locked (mlock); where that is refused
 * (RLIMIT_MEMLOCK) nothing vouches.  (A program that calls munlockall() gives that up.)
 *
 * WHY A WRITE DOES NOT GO INTO THE WRONG PROCESS.  process_vm_writev() looks its process up when it is called, takes hold of that
 * process' memory, and keeps it to the end: so it is only the moment between our look at the word and the kernel's at the id that
 * counts.  A process id is given out again when all threads of its process have ended and its parent has taken notice; each thread
 * marks what it holds before it lets go of memory, and the marks are there before the process is reported.  execve() ends the other
 * threads before there is another memory.  So while the word is as it was when the process was known by its incarnation, the id
 * still means that process and that image.  If it dies behind our look, the write finds no process or no memory, and fails, unless
 * within that moment it was also waited for and all other ids were given out in turn, or an execve() was finished.  Asking for the
 * incarnation (node_identify()) leaves that moment too, from what the kernel looked up for the read to what it looks up for the
 * write, and it is longer by the return from a call.  Chunks are not taken back from a process that may still write them, so
 * nothing else depends on how long it is.
 *
 * RENEWALS.  A process that renews its segment (node_renew.c) lets go of what it had exposed, and lives: it counts `renewals`
 * after it has become another incarnation, and before it lets go of anything.  A peer that reads the new count and then the former
 * incarnation finds that it is gone; one that has read the old count before finds another one now.  The thread holds on.
 */
#include "transports/node/node_voucher.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "transports/node/node_memory.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)

/* From now on nothing else can map it so.  NULL: refused. */
static struct node_voucher *map_and_seal(int fd)
{
	const size_t size = sizeof(struct node_voucher);
	struct node_voucher *voucher =
		ftruncate(fd, (off_t)size) == 0 ? node_memory_map(fd, size, PROT_READ | PROT_WRITE) : NULL;

	if (!voucher || (mlock(voucher, size) == 0 && fcntl(fd, F_ADD_SEALS, SEALS) == 0))
		return voucher;
	node_voucher_unmap(voucher);
	return NULL;
}

void node_voucher_make(struct node *node)
{
	int fd = node_memory_file("portals3-voucher");

	if (fd < 0)
		return;
	node->voucher = map_and_seal(fd);
	if (node->voucher)
		node->voucher_fd = fd;
	else
		close(fd);
}

void node_voucher_drop(struct node *node)
{
	if (!node->voucher)
		return;
	node_voucher_unmap(node->voucher);
	close(node->voucher_fd);
	node->voucher = NULL;
}

int node_voucher_map(int fd, const struct node_voucher **out)
{
	struct stat status;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &status) ||
	    status.st_size != (off_t)sizeof(struct node_voucher))
		return -EPROTO;
	*out = node_memory_map(fd, sizeof(struct node_voucher), PROT_READ);
	return *out ? 0 : -errno;
}

void node_voucher_unmap(const struct node_voucher *voucher)
{
	if (voucher)
		munmap((void *)(uintptr_t)voucher, sizeof(*voucher));
}
