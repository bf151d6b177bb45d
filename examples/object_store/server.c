/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * object_server: keeps named objects in a directory for any process that calls.  It belongs to no job; clients know its address.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../hello.h"
#include "server.h"

struct options {
	const char *directory;
	ptl_pid_t pid;
	unsigned patience; /* seconds */
	bool trust;
	uint32_t users, uid[OBJECT_USERS];
};

static volatile sig_atomic_t stop;

static void end(int signal)
{
	(void)signal;
	stop = 1;
}

static const char usage[] =
	"usage: object_server [OPTION...] DIRECTORY\n"
	"Keeps objects in DIRECTORY and prints its address, NID:PID, when clients may call.\n"
	"  --pid PID          its process id (4100)\n"
	"  --admit UID        a user that may call, at most seven; without it the user that runs the server\n"
	"  --trust-network    believe user ids over transports that cannot prove them\n"
	"  --patience SECONDS until a client that moves nothing is given up (10)\n";

static bool read_number(const char *text, unsigned long limit, uint32_t *number)
{
	char *rest;
	errno = 0;
	unsigned long value = strtoul(text, &rest, 10);
	*number = (uint32_t)value;
	return *text >= '0' && *text <= '9' && !*rest && errno == 0 && value <= limit;
}

static bool read_options(int argc, char **argv, struct options *options)
{
	static const struct option known[] = {{"pid", required_argument, NULL, 'p'},
					      {"admit", required_argument, NULL, 'a'},
					      {"trust-network", no_argument, NULL, 't'},
					      {"patience", required_argument, NULL, 'w'},
					      {NULL, 0, NULL, 0}};
	bool good = true;
	for (int flag; good && (flag = getopt_long(argc, argv, "", known, NULL)) != -1;) {
		if (flag == 'p')
			good = read_number(optarg, PTL_PID_ANY - 1, &options->pid);
		else if (flag == 'a')
			good = options->users < OBJECT_USERS &&
			       read_number(optarg, PTL_UID_ANY - 1, &options->uid[options->users++]);
		else if (flag == 't')
			options->trust = true;
		else
			good = flag == 'w' && read_number(optarg, 3600, &options->patience) && options->patience > 0;
	}
	options->directory = argv[optind];
	if (options->users == 0)
		options->uid[options->users++] = geteuid();
	return good && optind + 1 == argc;
}

/*
 * Does the transport prove users?  Unless the administrator has chosen one, it has to.  Over one that does not, any process can
 * claim to be a user that is admitted.
 */
static bool choose_transport(const struct options *options)
{
	const char *chosen = getenv("PTL_TRANSPORT");
	if (options->trust)
		return true;
	if (chosen)
		return strcmp(chosen, "node") == 0 || strcmp(chosen, "self") == 0;
	return setenv("PTL_REQUIRE_VERIFIED_UID", "1", 1) == 0;
}

/* Access control: each user to the requests, any process to the door, where it learns which entry is its own. */
static void admit(ptl_handle_ni_t ni, const struct options *options, struct object_door *door)
{
	const ptl_process_id_t anyone = {PTL_NID_ANY, PTL_PID_ANY}, none = {0, 0};
	for (uint32_t i = 0; i < OBJECT_USERS; i++)
		CHECK(PtlACEntry(ni, i, i < options->users ? anyone : none, options->uid[i], PTL_JID_ANY,
				 OBJECT_CONTROL));
	CHECK(PtlACEntry(ni, OBJECT_DOOR_ENTRY, anyone, PTL_UID_ANY, PTL_JID_ANY, OBJECT_DOOR));
	*door = (struct object_door){.magic = OBJECT_MAGIC, .users = options->users};
	memcpy(door->uid, options->uid, sizeof(door->uid));

	ptl_handle_me_t me;
	ptl_handle_md_t handle;
	ptl_md_t md = {
		.start = door, .length = sizeof(*door), .threshold = PTL_MD_THRESH_INF, .eq_handle = PTL_EQ_NONE};
	md.options = PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE;
	CHECK(PtlMEMDAttach(ni, OBJECT_DOOR, anyone, 0, 0, PTL_RETAIN, PTL_INS_AFTER, md, PTL_RETAIN, &me, &handle));
}

static bool is_wanted(void *catalog, uint64_t number)
{
	return catalog_has_file(catalog, number);
}

/* Opens the directory and removes what a crash has left there.  Nothing of it is for other users. */
static int open_store(struct server *server, const char *directory)
{
	unsigned unknown = 0;
	mode_t mask = umask(077);
	int rc = files_open(&server->files, directory);
	if (rc == 0)
		rc = catalog_open(directory, &server->files, &server->catalog);
	if (rc == 0)
		rc = files_sweep(&server->files, is_wanted, server->catalog, &unknown);
	umask(mask);
	if (unknown)
		fprintf(stderr,
			"object_server: %s: %u files in objects are not in index.sqlite, as if it were an older one; "
			"they are kept\n",
			directory, unknown);
	return rc;
}

static void start_workers(struct server *server, struct worker *workers)
{
	for (int i = 0; i < WORKERS; i++) {
		workers[i] = (struct worker){.server = server, .chunk = malloc(CHUNK)};
		CHECK(PtlEQAlloc(server->ni, 64, PTL_EQ_HANDLER_NONE, &workers[i].eq));
		if (!workers[i].chunk || pthread_create(&workers[i].thread, NULL, serve, &workers[i]) != 0) {
			fprintf(stderr, "object_server: no memory for workers\n");
			exit(1);
		}
	}
}

static void stop_workers(struct worker *workers)
{
	for (int i = 0; i < WORKERS; i++) {
		pthread_join(workers[i].thread, NULL);
		free(workers[i].chunk);
	}
}

int main(int argc, char **argv)
{
	static struct server server;
	static struct object_door door;
	struct options options = {.pid = OBJECT_PID, .patience = 10};
	struct worker workers[WORKERS];
	struct receiver receiver = {0};
	ptl_process_id_t self;
	int interfaces;
	if (!read_options(argc, argv, &options))
		return fputs(usage, stderr), 2;
	server.patience = options.patience * 1000;
	server.verified = choose_transport(&options);
	char seconds[16];
	snprintf(seconds, sizeof(seconds), "%us", options.patience);
	setenv("PTL_PEER_TIMEOUT", seconds, 0); /* a client that stands still holds a worker no longer */
	signal(SIGTERM, end);
	signal(SIGINT, end);

	int rc = open_store(&server, options.directory);
	if (rc)
		return fprintf(stderr, "object_server: %s: %s\n", options.directory, strerror(-rc)), 1;
	queue_init(&server.queue);
	CHECK(PtlInit(&interfaces));
	CHECK(PtlNIInit(PTL_IFACE_DEFAULT, options.pid, NULL, NULL, &server.ni));
	CHECK(PtlGetId(server.ni, &self));
	admit(server.ni, &options, &door);
	start_workers(&server, workers);
	rc = receive_open(&receiver, server.ni);
	if (rc == 0) {
		print_address(stdout, self);
		rc = receive_requests(&receiver, &server, &stop);
	}
	if (rc)
		fprintf(stderr, "object_server: %s: %s\n", strerror(-rc), PtlNicErrorText());
	queue_end(&server.queue);
	stop_workers(workers);
	PtlFini(); /* no message comes any more */
	free(receiver.blocks);
	queue_destroy(&server.queue);
	catalog_close(server.catalog);
	files_close(&server.files);
	return rc ? 1 : 0;
}
