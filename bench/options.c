/* SPDX-License-Identifier: BSD-3-Clause */
#include "options.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/nearest.h"
#include "compare_tests.h"

bool parse_size(const char *text, uint64_t *bytes)
{
	static const char suffixes[] = "KMG";
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	uint64_t value = strtoull(text, &end, 10);
	if (errno || value > SIZE_LIMIT)
		return false;
	const char *suffix = *end ? strchr(suffixes, *end) : NULL;
	if (suffix) {
		value <<= 10 * (suffix - suffixes + 1);
		end++;
	}
	if (*end || value > SIZE_LIMIT)
		return false;
	*bytes = value;
	return true;
}

const char *transport_provider(const char *transport)
{
	return transport && !strncmp(transport, "ofi:", 4) && transport[4] ? transport + 4 : NULL;
}

/* A decimal number within limits. */
static bool parse_number(const char *text, uint32_t least, uint32_t most, uint32_t *number)
{
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	unsigned long long value = strtoull(text, &end, 10);
	if (errno || *end || value < least || value > most)
		return false;
	*number = (uint32_t)value;
	return true;
}

/* Position of `value` among the words of "one|two|three", or -1. */
static int choose(const char *value, const char *words)
{
	size_t length = strlen(value);

	for (int position = 0;; position++) {
		size_t word = strcspn(words, "|");
		if (word == length && !memcmp(words, value, length))
			return position;
		if (!words[word])
			return -1;
		words += word + 1;
	}
}

/*
 * One function per option with an argument.  Each returns NULL, or what it would have liked to read.
 */
static const char *set_transport(struct options *options, const char *value)
{
	options->transport = value;
	for (;; value++) { /* a list has one for each interface */
		size_t length = strcspn(value, ",");
		char word[16];
		snprintf(word, sizeof(word), "%.*s", (int)length, value);
		if (choose(word, "auto|self|node|ofi") < 0 && (strncmp(value, "ofi:", 4) != 0 || length == 4))
			return "auto, self, node, ofi or ofi:PROVIDER (ofi:tcp, ofi:net, ofi:verbs, ...)";
		value += length;
		if (!*value)
			return NULL;
	}
}

static const char *set_mode(struct options *options, const char *value)
{
	options->mode = value;
	return choose(value, "shared|dedicated|host|auto") >= 0 ? NULL : "shared, dedicated, host or auto";
}

static const char *set_sizes(struct options *options, const char *value)
{
	static const char expected[] = "MIN:MAX in bytes with MIN <= MAX <= 1G, for example 0:4M";
	char first[24];
	const char *colon = strchr(value, ':');
	size_t length = colon ? (size_t)(colon - value) : strlen(value);

	if (length >= sizeof(first))
		return expected;
	memcpy(first, value, length);
	first[length] = '\0';
	struct workload *load = &options->load;
	load->sizes_given = true;
	if (!parse_size(first, &load->size_min) || !parse_size(colon ? colon + 1 : first, &load->size_max))
		return expected;
	return load->size_min <= load->size_max ? NULL : expected;
}

static const char *set_iterations(struct options *options, const char *value)
{
	return parse_number(value, 1, 100000000, &options->load.iterations) ? NULL : "a number from 1 to 100000000";
}

static const char *set_row_time(struct options *options, const char *value)
{
	return parse_number(value, 10, 100000, &options->load.row_ms) ? NULL : "milliseconds from 10 to 100000";
}

static const char *set_warmup(struct options *options, const char *value)
{
	return parse_number(value, 0, 1000000, &options->load.warmup) ? NULL : "a number from 0 to 1000000";
}

/* Numbers between commas, of which there may be `room`; how many there are, 0 if it is not such a list. */
static uint32_t parse_list(const char *value, uint32_t least, uint32_t most, uint32_t *numbers, uint32_t room)
{
	for (uint32_t count = 0; count < room;) {
		char number[16];
		size_t length = strcspn(value, ",");
		if (length >= sizeof(number))
			return 0;
		memcpy(number, value, length);
		number[length] = '\0';
		if (!parse_number(number, least, most, &numbers[count++]))
			return 0;
		if (!value[length])
			return count;
		value += length + 1;
	}
	return 0;
}

static const char *set_window(struct options *options, const char *value)
{
	struct workload *load = &options->load;

	load->window = 0;
	load->window_count = parse_list(value, 1, WINDOW_LIMIT, load->windows, WINDOWS_MAX);
	for (uint32_t i = 0; i < load->window_count; i++)
		if (load->windows[i] > load->window)
			load->window = load->windows[i];
	options->given &= ~OPTION_BIT(WINDOW_LIST);
	if (load->window_count > 1)
		options->given |= OPTION_BIT(WINDOW_LIST);
	return load->window_count ? NULL : "a number from 1 to 4096, or at most 16 of them with commas between";
}

static const char *set_repeat(struct options *options, const char *value)
{
	return parse_number(value, 1, 1000, &options->load.repeat) ? NULL : "a number from 1 to 1000";
}

static const char *set_depths(struct options *options, const char *value)
{
	struct workload *load = &options->load;

	load->depth_count = parse_list(value, 0, 1000000, load->depths, DEPTHS_MAX);
	return load->depth_count ? NULL : "at most 16 numbers from 0 to 1000000, for example 0,100,10000";
}

static const char *set_format(struct options *options, const char *value)
{
	int format = choose(value, "text|csv|json|markdown");

	options->format = (enum output_format)format;
	return format >= 0 ? NULL : "text, csv, json or markdown";
}

static const char *set_raw(struct options *options, const char *value)
{
	int kind = choose(value, "msg|tagged|rma|slots");

	options->load.raw = (uint32_t)(kind + 1);
	return kind >= 0 ? NULL : "msg, tagged, rma or slots";
}

static const char *set_wait(struct options *options, const char *value)
{
	int call = choose(value, "eqwait|eqget");

	options->load.wait = (uint32_t)call;
	return call >= 0 ? NULL : "eqwait or eqget";
}

static const char *set_iface(struct options *options, const char *value)
{
	options->iface = value;
	return *value ? NULL : "a network device or its IPv4 address";
}

static const char *set_rows(struct options *options, const char *value)
{
	options->rows = value;
	return NULL; /* compare knows its tests */
}

static const char *set_against(struct options *options, const char *value)
{
	options->against = value;
	return access(value, X_OK) ? "the ptlbench of another build" : NULL;
}

static const char *set_plot(struct options *options, const char *value)
{
	const char *dot = strrchr(value, '.');

	options->plot = value;
	return dot && dot > value && (!strcmp(dot, ".svg") || !strcmp(dot, ".png"))
		       ? NULL
		       : "a file whose name ends in .svg or .png";
}

static const char *set_save(struct options *options, const char *value)
{
	options->save = value;
	return *value ? NULL : "the name of a file";
}

static const char *set_hist(struct options *options, const char *value)
{
	options->hist = value;
	return *value ? NULL : "a file";
}

static const char *set_out(struct options *options, const char *value)
{
	options->out = value;
	return *value ? NULL : "a folder";
}

static const char *set_tests(struct options *options, const char *value)
{
	options->tests = value;
	return NULL; /* all knows its plan */
}

static const char *set_listen(struct options *options, const char *value)
{
	options->listen = true;
	if (!value)
		return NULL;
	return parse_number(value, 1, 65535, &options->listen_pid) ? NULL : "a pid from 1 to 65535";
}

/* NID is an IPv4 address, dotted or as the number PtlGetId shows. */
static const char *set_connect(struct options *options, const char *value)
{
	static const char expected[] = "NID:PID as printed by the process that listens, for example 192.0.2.1:5000";
	char nid[24];
	struct in_addr address;
	const char *colon = strrchr(value, ':');

	if (!colon || (size_t)(colon - value) >= sizeof(nid))
		return expected;
	memcpy(nid, value, (size_t)(colon - value));
	nid[colon - value] = '\0';
	options->connect = true;
	if (inet_pton(AF_INET, nid, &address) == 1)
		options->connect_nid = ntohl(address.s_addr);
	else if (!parse_number(nid, 1, UINT32_MAX, &options->connect_nid))
		return expected;
	return parse_number(colon + 1, 1, 65535, &options->connect_pid) ? NULL : expected;
}

static const char *set_timeout(struct options *options, const char *value)
{
	return parse_number(value, 1, 1000000, &options->timeout) ? NULL : "seconds, from 1";
}

#define VALUE(function) function, 0
#define FLAG(field)     NULL, offsetof(struct options, field)

/* An argument in brackets may be left out, and is written --name=VALUE. */
static const struct option_row {
	const char *name, *argument;
	const char *(*set)(struct options *, const char *value);
	size_t flag;
	const char *text;
} rows[OPTION_COUNT] = {
	[OPTION_TRANSPORT] = {"--transport", "T", VALUE(set_transport),
			      "how bytes move: auto, self, node, ofi, ofi:PROVIDER (sets PTL_TRANSPORT)"},
	[OPTION_MODE] = {"--mode", "M", VALUE(set_mode),
			 "what drives the NIC: shared, dedicated, host, auto (sets PTL_NIC_MODE)"},
	[OPTION_IFACE] = {"--iface", "I", VALUE(set_iface),
			  "network device (sets PTL_IFACE); lo when ptlbench forks its peer"},
	[OPTION_SIZES] =
		{"--sizes", "MIN:MAX", VALUE(set_sizes),
		 "bytes, K M G allowed; powers of two between, of four with --quick (0:4M; bypass: 8, 64K and 1M)"},
	[OPTION_ITERATIONS] = {"--iterations", "N", VALUE(set_iterations),
			       "iterations per row; default: what fits the time (nic-timing: 8 N more in batches)"},
	[OPTION_ROW_TIME] =
		{"--row-time", "MS", VALUE(set_row_time),
		 "milliseconds for each row (1100; 300 with --quick; of compare for each candidate: 225; 24)"},
	[OPTION_WARMUP] = {"--warmup", "N", VALUE(set_warmup),
			   "iterations before measuring (100, fewer if they are long)"},
	[OPTION_WINDOW] = {"--window", "N", VALUE(set_window), "operations in flight (64; 16 from 64K)"},
	[OPTION_WINDOW_LIST] = {"--window N,N,...", NULL, VALUE(NULL), "several: a row for each size and window"},
	[OPTION_DEPTHS] = {"--depths", "N,N,...", VALUE(set_depths),
			   "so many entries in front, or unexpected messages (0,10,100,1000,10000)"},
	[OPTION_REPEAT] = {"--repeat", "N", VALUE(set_repeat),
			   "how often the series of a row take turns (10; 5 with --quick; of compare 9; 3)"},
	[OPTION_RAW] = {"--raw", "KIND", VALUE(set_raw),
			"also do it directly on libfabric, same provider (for node: shm): msg, tagged, rma; or in "
			"shared memory "
			"without it: slots"},
	[OPTION_RAW_SLEEPABLE] = {"--raw-sleepable", NULL, FLAG(load.raw_sleepable),
				  "give raw a completion queue that can be slept on, as ours must be (default: one "
				  "that can only be polled)"},
	[OPTION_PERSISTENT] = {"--persistent", NULL, FLAG(load.persistent),
			       "attach receives once, not inside each iteration"},
	[OPTION_START_EVENTS] = {"--start-events", NULL, FLAG(load.start_events), "leave START events on"},
	[OPTION_WAIT] = {"--wait", "CALL", VALUE(set_wait),
			 "how events are awaited: eqwait (PtlEQWait) or eqget (a loop of PtlEQGet)"},
	[OPTION_CHECK] = {"--check", NULL, FLAG(load.check),
			  "verify the payload of each message, or of a run's last where the next comes unasked (times "
			  "include it)"},
	[OPTION_NIC_TIMING] = {"--nic-timing", NULL, FLAG(load.nic_timing), "where the NIC's time went, at each size"},
	[OPTION_UNPINNED] = {"--unpinned", NULL, FLAG(unpinned), "let the system choose the CPUs of both processes"},
	[OPTION_ROWS] = {"--rows", "TEST,...", VALUE(set_rows), "these tests of compare only: " COMPARE_TESTS},
	[OPTION_AGAINST] = {"--against", "FILE", VALUE(set_against),
			    "the ptlbench of another build, to take turns with this one"},
	[OPTION_STRICT] = {"--strict", NULL, FLAG(strict), "goals: status 1 if one is missed"},
	[OPTION_FORMAT] = {"--format", "F", VALUE(set_format), "text, csv, json or markdown"},
	[OPTION_QUICK] = {"--quick", NULL, FLAG(load.quick), "fewer sizes, less time"},
	[OPTION_PLOT] = {"--plot", "FILE", VALUE(set_plot), "a picture of the table: FILE.svg, or FILE.png by gnuplot"},
	[OPTION_HIST] = {"--hist", "FILE", VALUE(set_hist),
			 "a histogram of the samples of each row, bins 1.6 % wide, as CSV"},
	[OPTION_SAVE] = {"--save", "FILE", VALUE(set_save),
			 "write the short limit found to a tuning file, which PTL_TUNING_FILE has the library read"},
	[OPTION_WIRE] = {"--wire", NULL, FLAG(wire),
			 "each way to the NIC forced, with the bytes that the NIC counts, beside the choice"},
	[OPTION_OUT] = {"--out", "DIR", VALUE(set_out), "all: the folder for the results, a file for each test"},
	[OPTION_TESTS] = {"--tests", "TEST,...", VALUE(set_tests), "all: these tests only"},
	[OPTION_LISTEN] = {"--listen", "[=PID]", VALUE(set_listen),
			   "be the target for a ptlbench that connects; PID is also its TCP port (4242)"},
	[OPTION_CONNECT] = {"--connect", "NID:PID", VALUE(set_connect),
			    "use the target that listens there instead of forking one"},
	[OPTION_TIMEOUT] = {"--timeout", "S", VALUE(set_timeout),
			    "give up after so many seconds (300; compare and goals 900)"},
	[OPTION_DRY_RUN] = {"--dry-run", NULL, FLAG(dry_run), "say what is wrong with the command line and end"},
	[OPTION_VERSION] = {"--version", NULL, FLAG(version), "of ptlbench and libfabric"},
	[OPTION_HELP] = {"--help", NULL, FLAG(help), "this text; of TEST: what it takes (-h)"},
};

void options_print(FILE *out, uint64_t takes)
{
	for (const struct option_row *row = rows; row < rows + OPTION_COUNT; row++) {
		if (!(takes >> (row - rows) & 1))
			continue;
		const char *argument = row->argument ? row->argument : "";
		char left[40];
		snprintf(left, sizeof(left), "%s%s%s", row->name, *argument && *argument != '[' ? " " : "", argument);
		fprintf(out, "  %-20s %s\n", left, row->text);
	}
}

const char *options_refused(const struct options *options, uint64_t takes)
{
	uint64_t refused = options->given & ~takes;

	return refused ? rows[__builtin_ctzll(refused)].name : NULL;
}

static const struct option_row *find_row(const char *argument)
{
	size_t length = strcspn(argument, "=");

	if (!strcmp(argument, "-h"))
		return &rows[OPTION_HELP];
	for (const struct option_row *row = rows; row < rows + OPTION_COUNT; row++)
		if (strlen(row->name) == length && !memcmp(row->name, argument, length) && (row->set || row->flag))
			return row;
	return NULL;
}

static int refuse(char *error, size_t size, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error, size, format, arguments);
	va_end(arguments);
	return -EINVAL;
}

static int refuse_unknown(const char *argument, char *error, size_t size)
{
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(argument, "="), argument);
	const char *meant =
		strncmp(name, "--", 2) ? NULL : name_nearest(name, 2, &rows[0].name, OPTION_COUNT, sizeof(rows[0]));
	if (meant)
		return refuse(error, size, "unknown option %s; did you mean %s? (ptlbench --help lists them)", name,
			      meant);
	return refuse(error, size, "unknown option %s (ptlbench --help lists them)", name);
}

/* Handles the option at argv[0]; returns how many of the `left` arguments it took, or -EINVAL. */
static int parse_one(char *const argv[], int left, struct options *options, char *error, size_t size)
{
	const struct option_row *row = find_row(argv[0]);

	if (!row)
		return refuse_unknown(argv[0], error, size);
	options->given |= UINT64_C(1) << (row - rows);
	const char *equals = strchr(argv[0], '=');
	const char *value = equals ? equals + 1 : NULL;
	if (!row->argument) {
		if (value)
			return refuse(error, size, "%s takes no argument", row->name);
		*(bool *)((char *)options + row->flag) = true;
		return 1;
	}
	bool separate = !value && row->argument[0] != '[';
	if (separate && left < 2)
		return refuse(error, size, "%s needs an argument: %s", row->name, row->text);
	if (separate)
		value = argv[1];
	const char *expected = row->set(options, value);
	if (expected)
		return refuse(error, size, "%s %s: expected %s", row->name, value, expected);
	return separate ? 2 : 1;
}

static void set_defaults(struct options *options)
{
	static const uint32_t depths[] = {0, 10, 100, 1000, 10000};

	*options = (struct options){.timeout = 300};
	options->load = (struct workload){.size_max = 4 << 20, .warmup = 100, .depth_count = 5};
	memcpy(options->load.depths, depths, sizeof(depths));
}

int options_parse(int argc, char *const argv[], struct options *options, char *error, size_t error_size)
{
	set_defaults(options);
	for (int at = 1; at < argc;) {
		if (argv[at][0] == '-') {
			int taken = parse_one(argv + at, argc - at, options, error, error_size);
			if (taken < 0)
				return taken;
			at += taken;
		} else if (!options->test) {
			options->test = argv[at++];
		} else {
			return refuse(error, error_size, "one test at a time: %s, and then %s?", options->test,
				      argv[at]);
		}
	}
	if (options->load.raw_sleepable && !options->load.raw)
		return refuse(error, error_size, "--raw-sleepable says how --raw is done: say --raw too");
	if (options->listen && options->connect)
		return refuse(error, error_size, "--listen and --connect exclude each other");
	if (!options->load.repeat)
		options->load.repeat = options->load.quick ? 5 : 10;
	return 0;
}
