/* SPDX-License-Identifier: BSD-3-Clause */
/* object_store: the object store from the command line. */
#include <errno.h>
#include <getopt.h>

#include "../hello.h"
#include "tool.h"

struct command {
	const char *server;
	ptl_time_t timeout;
	bool json, hex;
	struct object_id id;
	char **words; /* the command and its arguments */
	int count;
};

static const char usage[] =
	"usage: object_store [OPTION...] put FILE NAME | get NAME FILE | list | stat NAME | rm NAME\n"
	"  --server NID:PID   the server's address ($OBJECT_STORE_SERVER; else process 4100 of this node)\n"
	"  --json             output for programs\n"
	"  --timeout SECONDS  of silence until the server is given up (10)\n"
	"  --hex              NAME is given in hexadecimal: names are any 1 to 255 bytes\n"
	"  --id ID            32 hexadecimal digits: a put or rm with an id that the server has seen is not done "
	"again\n"
	"FILE may be - for the output of get.\n";

/* Bytes that hexadecimal digits say, at most `room`; -1 if they are none. */
static int read_hex(const char *text, unsigned char *bytes, size_t room)
{
	size_t length = strlen(text);
	if (length % 2 || length / 2 > room || strspn(text, "0123456789abcdefABCDEF") != length)
		return -1;
	for (size_t i = 0; i < length / 2; i++) {
		const char digits[] = {text[2 * i], text[2 * i + 1], 0};
		bytes[i] = (unsigned char)strtoul(digits, NULL, 16);
	}
	return (int)(length / 2);
}

static bool read_timeout(const char *text, ptl_time_t *timeout)
{
	char *rest;
	unsigned long seconds = strtoul(text, &rest, 10);
	*timeout = (ptl_time_t)seconds * 1000;
	return *text >= '0' && *text <= '9' && !*rest && seconds > 0 && seconds < 86400;
}

static bool read_options(int argc, char **argv, struct command *command)
{
	static const struct option known[] = {
		{"server", required_argument, NULL, 's'},  {"json", no_argument, NULL, 'j'},
		{"timeout", required_argument, NULL, 't'}, {"hex", no_argument, NULL, 'x'},
		{"id", required_argument, NULL, 'i'},      {NULL, 0, NULL, 0}};
	bool good = object_new_id(&command->id) == 0;
	for (int flag; good && (flag = getopt_long(argc, argv, "", known, NULL)) != -1;) {
		if (flag == 's')
			command->server = optarg;
		else if (flag == 'j')
			command->json = true;
		else if (flag == 't')
			good = read_timeout(optarg, &command->timeout);
		else if (flag == 'x')
			command->hex = true;
		else
			good = flag == 'i' &&
			       read_hex(optarg, command->id.bytes, sizeof(command->id)) == sizeof(command->id);
	}
	command->words = argv + optind;
	command->count = argc - optind;
	return good && command->count > 0;
}

static int fail(const char *what, int rc)
{
	fprintf(stderr, "object_store: %s: %s\n", what, object_error(rc));
	return 1;
}

static int fail_file(const char *path, int rc)
{
	fprintf(stderr, "object_store: %s: %s\n", path, strerror(-rc));
	return 1;
}

static int put(object_client *client, const struct command *command, struct object_name name)
{
	struct source source;
	int rc = source_open(&source, command->words[1]);
	if (rc)
		return fail_file(command->words[1], rc);
	rc = object_put(client, name, source.bytes, source.size, &command->id);
	source_close(&source);
	if (rc)
		return fail(command->words[2], rc);
	print_changed("put", name, &command->id, command->json);
	return 0;
}

/* Into memory for the size that the object has; once more if it has grown meanwhile. */
static int get(object_client *client, const struct command *command, struct object_name name)
{
	struct object_about about;
	const char *path = command->words[2];
	int rc = object_stat(client, name, &about);
	while (rc == 0) {
		struct destination destination;
		rc = destination_open(&destination, path, about.size);
		if (rc)
			return fail_file(path, rc);
		rc = object_get(client, name, destination.bytes, destination.size, &about);
		int file = destination_close(&destination, rc == 0, about.size);
		if (file)
			return fail_file(path, file);
		if (rc == 0)
			break;
		if (rc == -EMSGSIZE)
			rc = 0;
	}
	if (rc)
		return fail(command->words[1], rc);
	about.name = name;
	if (command->json && strcmp(path, "-") != 0)
		print_object(&about, true), putchar('\n');
	return 0;
}

static int stat_one(object_client *client, const struct command *command, struct object_name name)
{
	struct object_about about;
	int rc = object_stat(client, name, &about);
	if (rc)
		return fail(command->words[1], rc);
	about.name = name;
	print_object(&about, command->json);
	if (command->json)
		putchar('\n');
	return 0;
}

static int remove_one(object_client *client, const struct command *command, struct object_name name)
{
	int rc = object_remove(client, name, &command->id);
	if (rc)
		return fail(command->words[1], rc);
	print_changed("rm", name, &command->id, command->json);
	return 0;
}

struct listing {
	bool json;
	unsigned count;
};

static void list_one(void *context, const struct object_about *about)
{
	struct listing *listing = context;
	if (listing->json)
		fputs(listing->count ? ",\n " : "", stdout);
	print_object(about, listing->json);
	listing->count++;
}

static int list(object_client *client, const struct command *command, struct object_name name)
{
	struct listing listing = {.json = command->json};
	(void)name;
	fputs(command->json ? "[" : "", stdout);
	int rc = object_list(client, list_one, &listing);
	if (rc)
		return fail("list", rc);
	fputs(command->json ? "]\n" : "", stdout);
	return 0;
}

static const struct {
	const char *word;
	int count; /* words, the first included */
	int name;  /* which of them is NAME; 0: none */
	int (*run)(object_client *client, const struct command *command, struct object_name name);
} commands[] = {{"put", 3, 2, put},
		{"get", 3, 1, get},
		{"list", 1, 0, list},
		{"stat", 2, 1, stat_one},
		{"rm", 2, 1, remove_one}};

static int open_client(const struct command *command, object_client **client)
{
	int interfaces;
	ptl_handle_ni_t ni;
	ptl_process_id_t server;
	struct object_options options = {.timeout = command->timeout, .progress = print_progress};
	CHECK(PtlInit(&interfaces));
	CHECK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni));
	CHECK(PtlGetId(ni, &server));
	server.pid = OBJECT_PID;
	if (command->server && !read_address(command->server, &server)) {
		fprintf(stderr, "object_store: %s is no address: NID:PID, as 127.0.0.1:4100\n", command->server);
		return 2;
	}
	int rc = object_open(ni, server, &options, client);
	if (rc == 0)
		return 0;
	fprintf(stderr, "object_store: server " PROCESS ": %s\n", PARTS(server), object_error(rc));
	return 1;
}

int main(int argc, char **argv)
{
	struct command command = {.server = getenv("OBJECT_STORE_SERVER"), .timeout = 10000};
	unsigned char bytes[OBJECT_NAME_MAX];
	struct object_name name = {NULL, 0};
	object_client *client;
	size_t which = 0, known = sizeof(commands) / sizeof(*commands);
	if (!read_options(argc, argv, &command))
		return fputs(usage, stderr), 2;
	while (which < known && strcmp(commands[which].word, command.words[0]) != 0)
		which++;
	if (which == known || command.count != commands[which].count)
		return fputs(usage, stderr), 2;
	if (commands[which].name) {
		const char *word = command.words[commands[which].name];
		int length = command.hex ? read_hex(word, bytes, sizeof(bytes)) : (int)strlen(word);
		name = (struct object_name){command.hex ? (const void *)bytes : word, (size_t)length};
		if (length < 1 || length > OBJECT_NAME_MAX)
			return fail(word, -EINVAL), 2;
	}
	int rc = open_client(&command, &client);
	if (rc)
		return rc;
	rc = commands[which].run(client, &command, name);
	object_close(client);
	PtlFini();
	return rc;
}
