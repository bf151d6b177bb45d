/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files in /dev/shm of a process that is reached over libfabric's shm; PLACE stands for its address in hexadecimal, a
 * colon and its port:
 *
 *     PLACE            the provider's segment
 *     portals3-PLACE   our ready page
 *
 * WHETHER THE OWNER LIVES.  It holds a write lock on the page's file (of the open file description, so that it ends with
 * the process, in whatever way, and no child inherits it through ofi_forked()).  A page that is ready and not locked is
 * what a killed process left.  The UDP port that ofi_address.c claims says the same within a network namespace; the
 * lock also keeps apart those that share /dev/shm and not the network.
 *
 * ORDER.  The page is created and locked before the provider makes its segment, because opening a name in use unlinks the
 * living owner's segment; it becomes ready after, because inserting a peer without a segment gives it another one's
 * address.  At the end the other way round: not ready any more, then the provider removes its segment, by name, and
 * only then page and lock go.
 *
 * WHOSE FILES.  All are made with mode 0600.  A file of another user is never opened for more than a look at its
 * owner, nor is the provider led to it.
 */
#include "transports/ofi/ofi_shm_page.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/report.h"

#define DIRECTORY    "/dev/shm/"
#define PREFIX       "portals3-"
#define SHM_READY    (0x50337630u + SHM_LAYOUT_VERSION)
#define SHM_VERSIONS 16u /* that a page of another version can be told from what is no page */
#define MODE         (S_IRUSR | S_IWUSR)
#define MAKING_S     60
#define CLAIM_TRIES  50 /* of a millisecond: a process sweeps there, or is just leaving */

struct place {
	char segment[SHM_NAME_ROOM], page[SHM_NAME_ROOM];
};

static struct place place_of(uint32_t nid, uint16_t port)
{
	struct place place;

	snprintf(place.segment, sizeof(place.segment), DIRECTORY "%08x:%u", nid, port);
	snprintf(place.page, sizeof(place.page), DIRECTORY PREFIX "%08x:%u", nid, port);
	return place;
}

void ofi_shm_provider_name(uint32_t nid, uint16_t port, char name[SHM_NAME_ROOM])
{
	snprintf(name, SHM_NAME_ROOM, "fi_ns://%08x:%u", nid, port);
}

/* --- the lock --- */

static struct flock whole_file(void)
{
	return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET};
}

static bool take_lock(int fd)
{
	struct flock lock = whole_file();

	return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

static bool is_locked(int fd)
{
	struct flock lock = whole_file();

	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* --- making and removing --- */

/* 0, or the file is another user's, or gone by now. */
static int check_file(int fd)
{
	struct stat status;

	if (fstat(fd, &status) != 0)
		return -errno;
	if (status.st_uid != geteuid())
		return -EPERM;
	return status.st_nlink > 0 ? 0 : -ENOENT;
}

static int open_page(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, MODE);
	int rc = fd < 0 ? -errno : check_file(fd);

	if (!rc)
		return fd;
	if (fd >= 0)
		close(fd);
	return rc == -EACCES || rc == -ELOOP ? -EPERM : rc;
}

static int remove_file(const char *path)
{
	return unlink(path) == 0 || errno == ENOENT ? 0 : -errno;
}

/* The segment first: as long as there is a page, a process will remove the rest. */
static int remove_files(const struct place *place)
{
	int rc = remove_file(place->segment);

	return rc ? rc : remove_file(place->page);
}

/* 0: there is none any more; -EADDRINUSE: its owner lives, or another process is removing it. */
static int remove_leftover(const struct place *place)
{
	int fd = open_page(place->page, O_RDWR);

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	int rc = take_lock(fd) ? check_file(fd) : -EADDRINUSE;

	if (!rc)
		rc = remove_files(place);
	close(fd);
	return rc == -ENOENT ? 0 : rc;
}

/* A locked page that was not removed between its making and its locking.  -EAGAIN: once more. */
static int make_page(const struct place *place)
{
	int fd = open_page(place->page, O_RDWR | O_CREAT | O_EXCL);

	if (fd < 0)
		return fd;
	int rc = take_lock(fd) ? check_file(fd) : -EAGAIN;

	if (!rc)
		return fd;
	close(fd);
	return -EAGAIN;
}

static int claim_names(const struct place *place)
{
	const struct timespec pause = {0, 1000000};
	int fd = -EAGAIN, error;

	for (int i = 0; i < CLAIM_TRIES; i++) {
		fd = make_page(place);
		if (fd != -EEXIST && fd != -EAGAIN)
			break;
		error = remove_leftover(place);
		if (error && error != -EADDRINUSE)
			return error;
		if (error)
			nanosleep(&pause, NULL);
	}
	return fd == -EEXIST || fd == -EAGAIN ? -EADDRINUSE : fd;
}

static int map_page(int fd, struct shm_page **page)
{
	void *map = mmap(NULL, sizeof(**page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		return -errno;
	*page = map;
	return 0;
}

/* Not by the descriptor of the lock: a mapping, which children inherit, would keep that. */
static int map_own_page(const struct place *place, struct shm_page **page)
{
	int fd = open_page(place->page, O_RDWR);

	if (fd < 0)
		return fd;
	int rc = ftruncate(fd, sizeof(**page)) == 0 ? map_page(fd, page) : -errno;

	close(fd);
	return rc;
}

/* The number tells processes of different pid namespaces apart, the pid a forked child from its parent. */
static int note_process(struct shm_page *page)
{
	static _Atomic uint64_t number;
	uint64_t none = 0, drawn;

	if (getrandom(&drawn, sizeof(drawn), 0) != sizeof(drawn))
		return -errno;
	atomic_compare_exchange_strong(&number, &none, drawn); /* by whichever interface is the first */
	page->process[0] = (uint64_t)getpid();
	page->process[1] = atomic_load(&number);
	return 0;
}

static int fill_page(const struct place *place, uint32_t nid, uint16_t port, struct shm_page **out)
{
	struct shm_page *page = NULL;
	int rc = map_own_page(place, &page);

	if (rc || !page)
		return rc;
	*out = page;
	page->nid = nid;
	page->port = port;
	if (getrandom(&page->nonce, sizeof(page->nonce), 0) != sizeof(page->nonce))
		return -errno;
	return note_process(page);
}

int ofi_shm_page_claim(uint32_t nid, uint16_t port, struct shm_page **page, int *lock)
{
	const struct place place = place_of(nid, port);
	int fd = claim_names(&place);

	*page = NULL;
	if (fd < 0)
		return fd;
	*lock = fd; /* at once, for threads that fork: shm_forked() */
	/* A segment without a page: its owner was killed before it had one ready, or another user put it there. */
	int rc = remove_file(place.segment);

	if (!rc)
		rc = fill_page(&place, nid, port, page);
	if (rc) {
		ofi_shm_page_unmap(*page);
		*page = NULL;
		remove_file(place.page);
		*lock = -1;
		close(fd);
		return rc == -EACCES ? -EPERM : rc;
	}
	return 0;
}

void ofi_shm_page_publish(struct shm_page *page)
{
	/* All above is there, and the segment; pairs with the acquire load in is_ready(). */
	atomic_store_explicit(&page->ready, SHM_READY, memory_order_release);
}

void ofi_shm_page_retire(struct shm_page *page)
{
	atomic_store_explicit(&page->ready, 0, memory_order_relaxed);
	/* A peer that sends from here on learns that it is in vain; pairs with the fence in wake(). */
	atomic_store_explicit(&page->sleeping, SHM_CLOSED, memory_order_release);
}

void ofi_shm_page_drop(struct shm_page *page, int lock)
{
	const struct place place = place_of(page->nid, (uint16_t)page->port);

	ofi_shm_page_retire(page);
	remove_file(place.page);
	ofi_shm_page_unmap(page);
	close(lock);
}

/* --- the others --- */

static bool is_ready(const struct shm_page *page)
{
	/* Pairs with the release store in ofi_shm_page_publish(). */
	return atomic_load_explicit(&page->ready, memory_order_acquire) == SHM_READY;
}

/* Its first word is all that we know of it. */
static bool is_of_other_version(const struct shm_page *page)
{
	uint32_t ready = atomic_load_explicit(&page->ready, memory_order_relaxed);

	return ready != SHM_READY && ready / SHM_VERSIONS == SHM_READY / SHM_VERSIONS;
}

static int map_ready(int fd, struct shm_page **page)
{
	struct stat status;

	if (fstat(fd, &status) != 0)
		return -errno;
	if ((size_t)status.st_size < sizeof((*page)->ready))
		return -ENOENT; /* not yet */
	int rc = map_page(fd, page);

	if (rc || (*page && is_ready(*page)))
		return rc;
	rc = *page && is_of_other_version(*page) ? -EPROTONOSUPPORT : -ENOENT;
	ofi_shm_page_unmap(*page);
	return rc;
}

int ofi_shm_page_find(uint32_t nid, uint16_t port, uint64_t *nonce, struct shm_page **page)
{
	const struct place place = place_of(nid, port);
	int fd = open_page(place.page, O_RDWR);

	if (fd < 0)
		return fd;
	struct shm_page *found = NULL;
	int rc = is_locked(fd) ? map_ready(fd, &found) : -ENOENT;

	close(fd);
	if (rc || !found)
		return rc;
	*nonce = found->nonce;
	if (page)
		*page = found;
	else
		ofi_shm_page_unmap(found);
	return 0;
}

void ofi_shm_page_unmap(struct shm_page *page)
{
	if (page)
		munmap(page, sizeof(*page));
}

int ofi_shm_segment_check(uint32_t nid, uint16_t port)
{
	const struct place place = place_of(nid, port);
	struct stat status;

	if (lstat(place.segment, &status) != 0)
		return -errno;
	return status.st_uid == geteuid() ? 0 : -EPERM;
}

/* --- sweeping --- */

/* Not locked, its owner was killed; unless it is just being made, which does not take a minute. */
static bool is_abandoned(int fd)
{
	struct shm_page *page = NULL;
	struct stat status;

	if (is_locked(fd))
		return false;
	if (map_ready(fd, &page) == 0) {
		ofi_shm_page_unmap(page);
		return true;
	}
	return fstat(fd, &status) == 0 && time(NULL) - status.st_mtime > MAKING_S;
}

static void sweep(uint32_t nid, uint16_t port)
{
	const struct place place = place_of(nid, port);
	int fd = open_page(place.page, O_RDWR);

	if (fd < 0)
		return;
	bool abandoned = is_abandoned(fd);

	close(fd);
	if (abandoned)
		remove_leftover(&place);
}

void ofi_shm_pages_sweep(void)
{
	DIR *directory = opendir(DIRECTORY);

	if (!directory)
		return;
	for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
		unsigned nid, port;
		int length = 0;
		if (sscanf(entry->d_name, PREFIX "%8x:%5u%n", &nid, &port, &length) == 2 && port <= UINT16_MAX &&
		    entry->d_name[length] == 0)
			sweep(nid, (uint16_t)port);
	}
	closedir(directory);
}
