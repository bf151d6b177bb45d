/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libFuzzer target: whatever control messages come to the doorbell of a process on libfabric's shm, whatever its peers'
 * ready pages say, and whenever they die, the tables keep to what ofi_shm_control.c promises, no process that is not there
 * gets a place in them, and no descriptor or mapping is lost.  The input is a script of control messages, lives and
 * words in pages.  Control messages, pages and addresses are real; the provider is a table of numbers, which now and
 * then gives one out twice, as shm does.
 */
#include "transports/ofi/ofi_address.h"
#include "transports/ofi/ofi_rma.h"
#include "transports/ofi/ofi_shm_control.c" /* for the form of a control message */
#include "transports/ofi/ofi_table.h"

#include <dirent.h>
#include <fcntl.h>

#include "tests/fuzz/input.h"
#include "tests/fuzz/silent.h"

enum { SENDERS = 3, STEPS = 100, NUMBERS = PEERS_GREATEST + 1, NID = 0x7f000001, FIRST_PORT = 33000 };

static struct process {
	struct shm shm; /* page NULL: dead */
	struct shm_page identity;
	uint16_t port;
} senders[SENDERS];
static struct ofi *victim;
static bool inserted[NUMBERS], twice; /* twice: the next address gets a number that is in use */
static unsigned others;               /* peers besides, for which there is no room then */
static bool was_met[SENDERS + 1];     /* a process at that port, the victim's first, has said so */
static int outsider = -1, passed = -1;

/* --- stubs --- */

void ofi_rma_abandon(struct ofi *ofi, struct ofi_operation *operation, int status)
{
	(void)ofi, (void)operation, (void)status;
	REQUIRE(false); /* nothing is read here */
}

/* The victim's, those of the senders, others. */
static unsigned which_port(uint16_t port)
{
	return (uint16_t)(port - victim->port);
}

static int insert_number(struct fid_av *av, const void *name, size_t count, fi_addr_t *number, uint64_t flags,
			 void *context)
{
	(void)av, (void)flags, (void)context;
	REQUIRE(count == 1 && strncmp(name, "fi_ns://", strlen("fi_ns://")) == 0);
	for (*number = 0; *number < NUMBERS - 1 && inserted[*number] != twice; (*number)++)
		;
	twice = false;
	inserted[*number] = true;
	return 1;
}

static int remove_number(struct fid_av *av, fi_addr_t *number, size_t count, uint64_t flags)
{
	(void)av, (void)flags;
	REQUIRE(count == 1 && *number < NUMBERS && inserted[*number]);
	inserted[*number] = false;
	return 0;
}

static void peer_gone(void *owner, transport_address address)
{
	REQUIRE(owner == &victim && address < victim->address_count);
	REQUIRE(victim->addresses[address].number == FI_ADDR_NOTAVAIL);
}

/* --- processes --- */

static void make_segment(uint16_t port)
{
	char path[64];

	snprintf(path, sizeof(path), "/dev/shm/%08x:%u", NID, port);
	int fd = open(path, O_CREAT | O_CLOEXEC | O_RDWR, 0600);

	REQUIRE(fd >= 0);
	close(fd);
}

static void remove_segment(uint16_t port)
{
	char path[64];

	snprintf(path, sizeof(path), "/dev/shm/%08x:%u", NID, port);
	unlink(path);
}

/* As processes of their own, which they are not. */
static void live(struct shm *shm, uint16_t port, uint64_t which)
{
	REQUIRE(ofi_shm_page_claim(NID, port, &shm->page, &shm->lock) == 0);
	shm->page->process[0] += which;
	REQUIRE((shm->doorbell = ofi_shm_make_doorbell(shm->page)) >= 0);
	make_segment(port);
	ofi_shm_page_publish(shm->page);
}

static void be_born(struct process *process)
{
	live(&process->shm, process->port, (uint64_t)(process - senders) + 1);
	memcpy(&process->identity, process->shm.page, sizeof(process->identity));
}

static void leave(struct process *process)
{
	memcpy(process->shm.page, &process->identity,
	       sizeof(process->identity)); /* whatever the script has made of it */
	ofi_shm_page_retire(process->shm.page);
	remove_segment(process->port);
	ofi_shm_page_drop(process->shm.page, process->shm.lock);
	close(process->shm.doorbell);
	process->shm.page = NULL;
}

/* All files stay. */
static void be_killed(struct process *process)
{
	ofi_shm_page_unmap(process->shm.page);
	close(process->shm.lock);
	close(process->shm.doorbell);
	process->shm.page = NULL;
}

static void open_victim(uint16_t port)
{
	static const struct transport_sink sink = {.peer_gone = peer_gone};
	static struct fi_ops_av ops = {.size = sizeof(ops), .insert = insert_number, .remove = remove_number};
	static struct fid_av av = {.ops = &ops};

	victim = calloc(1, sizeof(*victim));
	REQUIRE(victim && (victim->shm = calloc(1, sizeof(*victim->shm))));
	victim->sink = &sink;
	victim->owner = &victim;
	victim->av = &av;
	victim->nid = NID;
	victim->port = port;
	victim->name_fd = victim->port_fd = victim->probe_fd = victim->mappings = -1;
	victim->shm->inserted = others;
	live(victim->shm, port, 0);
}

static void close_victim(void)
{
	struct shm *shm = victim->shm;

	close(shm->doorbell);
	remove_segment(victim->port);
	ofi_shm_page_drop(shm->page, shm->lock);
	for (size_t i = 0; i < shm->peer_room; i++)
		ofi_shm_page_unmap(shm->peers[i].page);
	free(shm->peers);
	free(shm);
	ofi_unclaim(victim);
	free(victim);
}

/* --- what must hold --- */

static void check_peer(const struct shm_peer *peer, fi_addr_t number)
{
	bool known = number != FI_ADDR_NOTAVAIL;

	REQUIRE(known || peer->state != SHM_OPEN);
	REQUIRE(!known || (number < NUMBERS && inserted[number]));
	REQUIRE((peer->page != NULL) == (peer->state != SHM_UNVERIFIED));
	REQUIRE(!known || peer->state != SHM_UNVERIFIED);
}

static void check_tables(void)
{
	const struct shm *shm = victim->shm;
	unsigned known = 0, failed = 0;

	REQUIRE(victim->address_count <= SENDERS + 1);
	for (size_t i = 0; i < victim->address_count; i++) {
		known += victim->addresses[i].number != FI_ADDR_NOTAVAIL;
		REQUIRE(which_port(victim->addresses[i].port) <= SENDERS);
	}
	for (size_t i = 0; i < shm->peer_room; i++)
		failed += shm->peers[i].state == SHM_FAILED;
	REQUIRE(known + others == shm->inserted && failed == shm->failed);
	for (size_t i = 0; i < victim->address_count && i < shm->peer_room; i++)
		check_peer(&shm->peers[i], victim->addresses[i].number);
	for (size_t i = 0; i < victim->address_count && i < shm->peer_room; i++)
		REQUIRE(shm->peers[i].state != SHM_OPEN || was_met[which_port(victim->addresses[i].port)]);
}

/* Descriptors, and pages that are mapped. */
static unsigned count_held(void)
{
	unsigned count = 0;
	char line[512];
	DIR *directory = opendir("/proc/self/fd");

	REQUIRE(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	FILE *maps = fopen("/proc/self/maps", "re");

	REQUIRE(maps);
	while (fgets(line, sizeof(line), maps))
		count += strstr(line, "/dev/shm/portals3-") != NULL;
	fclose(maps);
	return count;
}

/* --- the script --- */

static struct control make_control(const struct process *from)
{
	uint8_t wrong = (uint8_t)(input_number(1) & input_number(1)); /* mostly little */
	struct control control = {.header = {.magic = CONTROL_MAGIC,
					     .version = SHM_LAYOUT_VERSION,
					     .kind = (uint8_t)(input_number(1) % 4),
					     .flags = (uint8_t)input_number(1)},
				  .nid = NID,
				  .port = wrong & 1 ? (uint16_t)input_number(2) : from->port,
				  .from = from->identity.nonce,
				  .to = victim->shm->page->nonce};

	if (wrong & 2)
		control.from = input_number(1);
	if (wrong & 4)
		control.to = input_number(1);
	if (wrong & 8)
		control.port = victim->port;
	if (wrong & 16)
		input_bytes((uint8_t *)&control + input_number(1) % sizeof(control), 1);
	return control;
}

static void post_control(const struct process *from)
{
	struct control control = make_control(from);
	uint8_t shape = (uint8_t)(input_number(1) & input_number(1));
	_Alignas(struct cmsghdr) char ancillary[CMSG_SPACE(sizeof(passed))] = {0};
	const struct control_name name = doorbell_name(victim->shm->page);
	struct iovec body = {&control, shape & 1 ? input_number(1) % (sizeof(control) + 1) : sizeof(control)};
	struct msghdr message = {.msg_name = (void *)(uintptr_t)&name.address,
				 .msg_namelen = name.length,
				 .msg_iov = &body,
				 .msg_iovlen = 1};

	if (control.header.flags & MET && control.to == victim->shm->page->nonce && which_port(control.port) <= SENDERS)
		was_met[which_port(control.port)] = true;
	if (shape & 2) {
		message.msg_control = ancillary;
		message.msg_controllen = sizeof(ancillary);
		struct cmsghdr *rights = CMSG_FIRSTHDR(&message);

		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = CMSG_LEN(sizeof(passed));
		memcpy(CMSG_DATA(rights), &passed, sizeof(passed));
	}
	sendmsg(shape & 4 || !from->shm.page ? outsider : from->shm.doorbell, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
	atomic_fetch_add(&victim->shm->page->control_messages, 1);
}

/* What its owner, or another process of that user, may write there. */
static void write_page(struct process *process)
{
	uint8_t *bytes = (uint8_t *)process->shm.page;

	if (bytes && input_number(1) % 4 == 0)
		memcpy(bytes, &process->identity, sizeof(process->identity));
	else if (bytes)
		input_bytes(bytes + input_number(1) % sizeof(struct shm_page), 1);
}

static void live_on(struct process *process)
{
	if (!process->shm.page)
		be_born(process);
	else if (input_number(1) % 2)
		leave(process);
	else
		be_killed(process);
}

static void connect_to(const struct process *at)
{
	transport_address index;

	REQUIRE(ofi_make_address(victim, NID, at->port, &index) == 0);
	struct shm_peer *peer = shm_peer_at(victim, index);

	if (peer->state == SHM_OPEN)
		return;
	peer->connect_at = 0;
	int error = ofi_shm_connect(victim, index, peer);

	REQUIRE(error == 0 || error == -EAGAIN || error == -ENOENT || error == -EHOSTUNREACH);
	REQUIRE((error == 0) == (shm_peer_at(victim, index)->state == SHM_OPEN));
}

static void empty_doorbell(const struct process *process)
{
	char byte;

	while (process->shm.page && recv(process->shm.doorbell, &byte, 1, MSG_DONTWAIT) >= 0)
		;
}

static void step(void)
{
	struct process *process = &senders[input_number(1) % SENDERS];

	switch (input_number(1) % 8) {
	case 0:
	case 1:
	case 2:
		post_control(process);
		break;
	case 3:
		connect_to(process);
		break;
	case 4:
		write_page(process);
		break;
	case 5:
		live_on(process);
		break;
	case 6:
		ofi_shm_reap(victim);
		REQUIRE(victim->shm->failed == 0);
		break;
	default:
		twice = input_number(1) % 2;
		break;
	}
	if (input_number(1) % 4)
		ofi_shm_read_control_messages(victim);
	empty_doorbell(process);
	check_tables();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	uint16_t port = (uint16_t)(FIRST_PORT + getpid() % 8000 * (SENDERS + 1));

	if (outsider < 0) {
		outsider = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		passed = open("/dev/null", O_RDWR | O_CLOEXEC);
	}
	unsigned before = count_held();

	input = bytes;
	input_length = length;
	memset(inserted, 0, sizeof(inserted));
	memset(was_met, 0, sizeof(was_met));
	twice = false;
	others = input_number(1) % 4 == 0 ? PEERS_GREATEST - 1 : 0;
	open_victim(port);
	for (unsigned i = 0; i < SENDERS; i++) {
		senders[i].port = (uint16_t)(port + 1 + i);
		be_born(&senders[i]);
	}
	for (int i = 0; i < STEPS && input_length > 0; i++)
		step();
	close_victim();
	for (unsigned i = 0; i < SENDERS; i++) {
		if (!senders[i].shm.page)
			be_born(&senders[i]);
		leave(&senders[i]);
	}
	REQUIRE(count_held() == before);
	return 0;
}
