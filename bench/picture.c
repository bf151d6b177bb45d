/* SPDX-License-Identifier: BSD-3-Clause */
#include "picture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fail.h"
#include "sequence_svg.h"

#define BYTES     "bytes", "message, bytes"
#define BARS      NULL, NULL
#define NAME_SIZE 64

static const struct {
	const char *test;
	struct picture picture;
} pictures[] = {
	{"put-latency", {BYTES, "latency_us raw", "us", "", ""}},
	{"get-latency", {BYTES, "latency_us raw", "us", "", ""}},
	{"self-latency", {BYTES, "latency_us", "us", "", ""}},
	{"bidirectional-latency", {BYTES, "latency_us", "us", "", ""}},
	{"put-bandwidth", {BYTES, "megabytes_per_second:bandwidth raw", "MB/s", "", "window"}},
	{"get-bandwidth", {BYTES, "megabytes_per_second:bandwidth raw", "MB/s", "", "window"}},
	{"message-rate", {"window", "messages in flight", "millions_per_second:rate raw", "10^6/s", "", "bytes"}},
	{"bidirectional-bandwidth", {BYTES, "megabytes_per_second:bandwidth", "MB/s", "", ""}},
	{"initiator-timing", {BYTES, "median_us", "us", "", "operation"}},
	{"logp", {BYTES, "half_rtt_us latency_us:L send_overhead_us receive_overhead_us gap_us", "us", "", ""}},
	{"am", {BYTES, "half_rtt_us:RTT/2 send_overhead_us receive_overhead_us gap_us", "us", "", "flow_control"}},
	{"splitc", {BYTES, "median_us:Split-C portals_us:Portals", "us", "", "operation"}},
	{"grim", {BYTES, "am_us:AM rmv_us:RM-V rmp_us:RM-P put_us:Portals", "us", "part=all", ""}},
	{"driver",
	 {BYTES, "first_us:first_driver second_us:second_driver short_us:copied long_us:fetched put_us:Portals", "us",
	  "", ""}},
	{"host-overhead", {BYTES, "post_us take_us host_us latency_us:half_a_round_trip", "us", "", ""}},
	{"availability",
	 {"available_percent", "time for computing, %", "megabytes_per_second:bandwidth", "MB/s", "", "bytes"}},
	{"completion", {BYTES, "eqwait_us:PtlEQWait eqget_us:PtlEQGet last_byte_us ack_us:ACK", "us", "", ""}},
	{"buffer-reuse", {"buffers", "buffers", "latency_us", "us", "scheme=1", "bytes"}},
	{"segments",
	 {"segments", "segments of a message", "latency_us:one_piece gather_us scatter_us", "us", "bytes=max", ""}},
	{"blocking", {BYTES, "latency_us", "us", "", "initiator target cpus"}},
	{"injection", {BYTES, "with_header_us:copied exposed_us automatic_us:chosen us:", "us", "", "way"}},
	{"crossover", {BYTES, "short_us long_us", "us", "", ""}},
	{"hot-spot", {"slaves", "slaves", "send_us send_receive_us", "us", "bytes=max", ""}},
	{"peers", {"peers", "peers contacted", "latency_us", "us", "", "bytes"}},
	{"fragment",
	 {"fragment_bytes", "fragment, bytes", "one_by_one_us pipelined_us model_us", "us", "bytes=max", ""}},
	{"match-depth",
	 {"entries_in_front", "entries in front",
	  "latency_us:exact wildcards_latency_us:wildcards prefixes_latency_us:prefixes "
	  "different_masks_latency_us:different_masks",
	  "us", "", ""}},
	{"unexpected-depth",
	 {"unexpected_messages", "unexpected messages", "latency_us:nothing_kept kept_us:kept", "us", "", ""}},
	{"attach", {"entries", "entries", "ns", "ns", "", "where"}},
	{"bypass", {BYTES, "complete_us", "us", "", "operation"}},
	{"nic-timing", {BARS, "mean_ns", "ns", "bytes=max entries_in_front=max", "side stage"}},
	{"operations", {BARS, "median_us", "us", "", "operation"}},
	/* The parts of a layer, not what they are made of. */
	{"breakdown", {BARS, "percent:here via_percent:VIA", "% of overhead", "operation=", "layer part"}},
	{"idle", {BARS, "initiator_cpu_percent:initiator target_cpu_percent:target", "% of a CPU", "", "asleep_in"}},
	{"wake", {BARS, "latency_us doorbell_us wake_us poll_us:first_poll futex_us", "us", "", ""}},
	{"pairs", {BARS, "message_us", "us for a message", "", "arrangement"}},
	{"open", {BARS, "median_ms", "ms", "", "call"}},
	{"memory", {BARS, "anonymous_bytes:anonymous shared_bytes:shared", "bytes for each", "", "what"}},
	{"recovery", {BARS, "median_ms", "ms", "", "transport what"}},
};

const struct picture *picture_of(const char *test)
{
	for (size_t i = 0; i < sizeof(pictures) / sizeof(pictures[0]); i++)
		if (!strcmp(pictures[i].test, test))
			return &pictures[i].picture;
	return NULL;
}

/* "latency_us" as "latency": the unit is at the axis. */
static void name_of_key(const char *key, size_t length, char *name, size_t size)
{
	static const char *const units[] = {"_us", "_ms"};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t unit = strlen(units[i]);
		if (length > unit && !memcmp(key + length - unit, units[i], unit))
			length -= unit;
	}
	snprintf(name, size, "%.*s", (int)length, key);
	for (char *at = name; *at; at++)
		if (*at == '_')
			*at = ' ';
}

/* Takes the first word from a list; the column it names, or -1, and what that is called.  NULL: there is none left. */
static const char *next_key(const char *list, const struct table *table, int *column, char *name, size_t size)
{
	char key[NAME_SIZE];

	list += strspn(list, " ");
	if (!*list)
		return NULL;
	size_t word = strcspn(list, " "), length = strcspn(list, " :");
	snprintf(key, sizeof(key), "%.*s", (int)length, list);
	*column = table_column(table, key);
	if (length < word)
		name_of_key(list + length + 1, word - length - 1, name, size);
	else
		name_of_key(list, length, name, size);
	return list + word;
}

/* The row's values in the columns of the list, as "1024, sleeps"; "" if it is empty. */
static void group_of(const struct table *table, size_t row, const char *list, char *group, size_t size)
{
	char name[NAME_SIZE], room[32];
	size_t length = 0;
	int column;

	*group = '\0';
	while (length < size && (list = next_key(list, table, &column, name, sizeof(name))) && column >= 0) {
		const struct table_cell *cell = table_cell(table, row, column);
		const char *value = table_cell_text(cell, room, sizeof(room));
		bool number = !cell->text;
		if (number && cell->number != cell->number)
			continue;
		length += (size_t)snprintf(group + length, size - length, "%s%s%s%s", length ? ", " : "",
					   number ? name : "", number ? " " : "", value);
	}
}

static struct chart_curve *find_curve(struct chart *chart, size_t first, const char *name)
{
	for (size_t i = first; i < chart->count; i++)
		if (!strcmp(chart->curves[i].name, name))
			return &chart->curves[i];
	return chart_curve(chart, name);
}

static void join(char *whole, size_t size, const char *const parts[3])
{
	size_t length = 0;

	*whole = '\0';
	for (int i = 0; i < 3 && length < size; i++)
		if (*parts[i])
			length += (size_t)snprintf(whole + length, size - length, "%s%s", length ? ", " : "", parts[i]);
}

/* One column, which is called `name`; where there is but one, only if nothing else names its curve. */
static void draw_column(const struct picture *picture, const struct table *table, const char *prefix, const char *name,
			int y, struct chart *chart)
{
	int x = table_column(table, picture->x);
	size_t first = chart->count;
	char group[NAME_SIZE], whole[NAME_SIZE];

	for (size_t row = 0; x >= 0 && row < table->row_count; row++) {
		const struct table_cell *value = table_cell(table, row, y);
		if (value->text || value->number != value->number || !table_row_meets(table, row, picture->where))
			continue;
		group_of(table, row, picture->by, group, sizeof(group));
		const bool needed = strchr(picture->y, ' ') || (!*prefix && !*group);
		join(whole, sizeof(whole), (const char *const[3]){prefix, needed ? name : "", group});
		struct chart_curve *curve = find_curve(chart, first, whole);
		if (curve)
			chart_point(curve, table_cell(table, row, x)->number, value->number);
	}
}

void picture_draw(const struct picture *picture, const struct table *table, const char *prefix, struct chart *chart)
{
	char name[NAME_SIZE];
	const char *list = picture->y;
	int column;

	snprintf(chart->x_title, sizeof(chart->x_title), "%s", picture->x_title);
	snprintf(chart->y_title, sizeof(chart->y_title), "%s", picture->unit);
	while ((list = next_key(list, table, &column, name, sizeof(name))))
		if (column >= 0)
			draw_column(picture, table, prefix, name, column, chart);
	chart_sort(chart); /* a bisection takes its rows in another order */
}

static bool is_png(const char *path)
{
	return !strcmp(strrchr(path, '.'), ".png");
}

static bool is_in_path(const char *program)
{
	char file[4096];
	const char *path = getenv("PATH");

	while (path) {
		snprintf(file, sizeof(file), "%.*s/%s", (int)strcspn(path, ":"), path, program);
		if (access(file, X_OK) == 0)
			return true;
		path = strchr(path, ':');
		path = path ? path + 1 : NULL;
	}
	return false;
}

void picture_check(const char *path)
{
	if (is_png(path) && !is_in_path("gnuplot"))
		fail("--plot %s needs gnuplot, which is not installed (Debian: gnuplot-nox); a file .svg does without",
		     path);
	FILE *file = fopen(path, "ae");
	if (!file || fclose(file))
		fail("--plot %s: %s", path, strerror(errno));
}

static FILE *open_picture(const char *path)
{
	FILE *file = fopen(path, "we");

	if (!file)
		fail("--plot %s: %s", path, strerror(errno));
	return file;
}

static void close_picture(FILE *file, const char *path)
{
	if (fclose(file))
		fail("--plot %s: %s", path, strerror(errno));
}

static void save_svg(const struct chart *chart, const char *path)
{
	FILE *file = open_picture(path);

	chart_write_svg(chart, file, true);
	close_picture(file, path);
}

/* Of these the table itself is the picture. */
static void save_sequence(const struct table *table, const char *path)
{
	FILE *file = open_picture(path);

	sequence_write_svg(table, NULL, file, true);
	close_picture(file, path);
}

static void add_row(const struct picture *picture, const struct table *table, size_t row, struct bars *bars)
{
	char name[NAME_SIZE], group[NAME_SIZE], whole[NAME_SIZE];
	const bool several = strchr(picture->y, ' ');
	const char *list = picture->y;
	int column;

	group_of(table, row, picture->by, group, sizeof(group));
	while ((list = next_key(list, table, &column, name, sizeof(name))))
		if (column >= 0 && !table_cell(table, row, column)->text) {
			join(whole, sizeof(whole), (const char *const[3]){group, several ? name : "", ""});
			bars_add(bars, whole, table_cell(table, row, column)->number);
		}
}

void picture_draw_bars(const struct picture *picture, const struct table *table, struct bars *bars)
{
	snprintf(bars->unit, sizeof(bars->unit), "%s", picture->unit);
	for (size_t row = 0; row < table->row_count; row++)
		if (table_row_meets(table, row, picture->where))
			add_row(picture, table, row, bars);
}

static void save_bars(const struct picture *picture, const char *test, const struct table *table, const char *path)
{
	struct bars bars = {0};

	snprintf(bars.title, sizeof(bars.title), "ptlbench %s", test);
	picture_draw_bars(picture, table, &bars);
	if (!bars.count)
		fail("--plot %s: %s has no figures to draw", path, test);
	if (is_png(path)) {
		bars_write_png(&bars, path);
	} else {
		FILE *file = open_picture(path);
		bars_write_svg(&bars, file, true);
		close_picture(file, path);
	}
	bars_free(&bars);
}

void picture_save(const char *test, const struct table *table, const char *path)
{
	const struct picture *picture = picture_of(test);

	if (!strcmp(test, "sequence")) {
		save_sequence(table, path);
		return;
	}
	if (!picture->x) {
		save_bars(picture, test, table, path);
		return;
	}
	struct chart chart = {0};

	snprintf(chart.title, sizeof(chart.title), "ptlbench %s", test);
	picture_draw(picture, table, "", &chart);
	if (!chart.count)
		fail("--plot %s: %s has no figures to draw", path, test);
	if (is_png(path))
		chart_write_png(&chart, path);
	else
		save_svg(&chart, path);
	chart_free(&chart);
}
