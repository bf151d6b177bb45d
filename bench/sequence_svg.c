/* SPDX-License-Identifier: BSD-3-Clause */
#include "sequence_svg.h"

#include <math.h>
#include <string.h>

#include "html.h"

#define WIDTH        760.0
#define PANEL        380.0 /* height of a protocol */
#define TOP          56.0  /* from the panel's upper end to time 0 */
#define LENGTH       300.0 /* of the lines of time */
#define LABEL_HEIGHT 11.0

enum line { INITIATOR_NIC, INITIATOR_HOST, TARGET_HOST, TARGET_NIC, LINES };

static const double line_x[LINES] = {230, 290, 470, 530};
static const char *const line_names[LINES] = {"NIC thread", "initiator", "target", "NIC thread"};

struct columns {
	int protocol, us, lasts, process, thread, arrow, event;
};

struct panel {
	const struct table *table;
	struct columns at;
	size_t first, end; /* rows */
	double span;       /* us */
	double top;
	double labelled[2]; /* lowest label of each side so far */
	FILE *out;
};

static const char *text_of(const struct panel *panel, size_t row, int column)
{
	const char *text = table_cell(panel->table, row, column)->text;

	return text ? text : "";
}

static double number_of(const struct panel *panel, size_t row, int column)
{
	return table_cell(panel->table, row, column)->number;
}

static enum line line_of(const struct panel *panel, size_t row)
{
	bool nic = !strcmp(text_of(panel, row, panel->at.thread), "NIC");

	if (!strcmp(text_of(panel, row, panel->at.process), "initiator"))
		return nic ? INITIATOR_NIC : INITIATOR_HOST;
	return nic ? TARGET_NIC : TARGET_HOST;
}

static double down(const struct panel *panel, double us)
{
	return panel->top + TOP + LENGTH * fmin(fmax(us / panel->span, 0), 1);
}

/* Beside the outer line of its process; left out where it would cover the one above. */
static void write_label(struct panel *panel, enum line line, double y, const char *text)
{
	const bool left = line <= INITIATOR_HOST;
	double x = left ? line_x[INITIATOR_NIC] - 14 : line_x[TARGET_NIC] + 14;

	if (y < panel->labelled[left] + LABEL_HEIGHT)
		return;
	panel->labelled[left] = y;
	fprintf(panel->out, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y + 4, left ? " text-anchor=\"end\"" : "");
	html_text(panel->out, text);
	fprintf(panel->out, "</text>\n");
}

static void write_slice(struct panel *panel, size_t row)
{
	double begin = number_of(panel, row, panel->at.us), lasts = number_of(panel, row, panel->at.lasts);
	double y = down(panel, begin), height = fmax(down(panel, begin + lasts) - y, 1.5);
	enum line line = line_of(panel, row);
	char label[96];

	snprintf(label, sizeof(label), "%s, %.*f us", text_of(panel, row, panel->at.event), lasts < 10 ? 2 : 0, lasts);
	fprintf(panel->out, "<rect class=\"slice\" x=\"%.1f\" y=\"%.1f\" width=\"10\" height=\"%.1f\"><title>",
		line_x[line] - 5, y, height);
	html_text(panel->out, label);
	fprintf(panel->out, "</title></rect>\n");
	write_label(panel, line, y, label);
}

/* From the row of an arrow that was sent to the other row of that number. */
static void write_arrow(const struct panel *panel, size_t from)
{
	double number = number_of(panel, from, panel->at.arrow);

	for (size_t to = from + 1; to < panel->end; to++) {
		if (number_of(panel, to, panel->at.arrow) != number)
			continue;
		enum line a = line_of(panel, from), b = line_of(panel, to);
		double y = down(panel, number_of(panel, from, panel->at.us)),
		       until = down(panel, number_of(panel, to, panel->at.us));
		double back = b > a ? -6 : 6;
		fprintf(panel->out, "<path class=\"arrow\" d=\"M%.1f %.1fL%.1f %.1f\" marker-end=\"url(#head)\"/>\n",
			line_x[a] - back, y, line_x[b] + back, until);
		fprintf(panel->out, "<text class=\"message\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">",
			(line_x[INITIATOR_HOST] + line_x[TARGET_HOST]) / 2, (y + until) / 2 - 3);
		/* "PUT sent": the message is the first word. */
		const char *text = text_of(panel, from, panel->at.event);
		char message[32];
		snprintf(message, sizeof(message), "%.*s", (int)strcspn(text, " "), text);
		html_text(panel->out, message);
		fprintf(panel->out, "</text>\n");
		return;
	}
}

static void write_lines(const struct panel *panel)
{
	fprintf(panel->out, "<text class=\"title\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", WIDTH / 2,
		panel->top + 18);
	html_text(panel->out, text_of(panel, panel->first, panel->at.protocol));
	fprintf(panel->out, ", %.*f us</text>\n", panel->span < 10 ? 2 : 0, panel->span);
	for (int line = 0; line < LINES; line++) {
		fprintf(panel->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n", line_x[line],
			panel->top + 40, line_names[line]);
		fprintf(panel->out, "<path class=\"axis\" d=\"M%.1f %.1fV%.1f\"/>\n", line_x[line],
			panel->top + TOP - 8, panel->top + TOP + LENGTH + 8);
	}
}

static void write_panel(struct panel *panel)
{
	panel->span = 1e-3;
	panel->labelled[0] = panel->labelled[1] = -INFINITY;
	for (size_t row = panel->first; row < panel->end; row++)
		panel->span = fmax(panel->span, number_of(panel, row, panel->at.us));
	write_lines(panel);
	for (size_t row = panel->first; row < panel->end; row++)
		if (!isnan(number_of(panel, row, panel->at.lasts)))
			write_slice(panel, row);
	for (size_t row = panel->first; row < panel->end; row++)
		if (!isnan(number_of(panel, row, panel->at.arrow)))
			write_arrow(panel, row);
}

/* The first row behind `row` that belongs to another protocol. */
static size_t end_of_protocol(const struct panel *panel, size_t row)
{
	const char *name = text_of(panel, row, panel->at.protocol);

	while (++row < panel->table->row_count && !strcmp(text_of(panel, row, panel->at.protocol), name))
		;
	return row;
}

static bool is_wanted(const struct panel *panel, size_t row, const char *protocol)
{
	return !protocol || !strcmp(text_of(panel, row, panel->at.protocol), protocol);
}

static double height_of(const struct panel *panel, const char *protocol)
{
	double height = 0;

	for (size_t row = 0; row < panel->table->row_count; row = end_of_protocol(panel, row))
		height += is_wanted(panel, row, protocol) ? PANEL : 0;
	return height;
}

static const char style[] =
	"<style>svg{background:#fff;font:11px sans-serif}text{fill:#333}.title{font-size:14px;font-weight:bold}"
	".axis{stroke:#999}.slice{fill:#1d4ed8;fill-opacity:.35;stroke:#1d4ed8;stroke-width:.5}"
	".arrow{stroke:#b91c1c;stroke-width:1.3}.message,.head{fill:#b91c1c}</style>\n";

static const char head[] =
	"<defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
	"orient=\"auto\"><path class=\"head\" d=\"M0 0L8 4L0 8z\"/></marker></defs>\n";

void sequence_write_svg(const struct table *table, const char *protocol, FILE *out, bool document)
{
	struct panel panel = {.table = table,
			      .at = {table_column(table, "protocol"), table_column(table, "us"),
				     table_column(table, "lasts_us"), table_column(table, "process"),
				     table_column(table, "thread"), table_column(table, "arrow"),
				     table_column(table, "event")},
			      .out = out};

	fprintf(out,
		"<svg class=\"chart sequence\" viewBox=\"0 0 %.0f %.0f\" role=\"img\"%s>\n"
		"<title>ptlbench sequence</title>\n%s%s",
		WIDTH, height_of(&panel, protocol), document ? " xmlns=\"http://www.w3.org/2000/svg\"" : "",
		document ? style : "", head);
	for (panel.first = 0; panel.first < table->row_count; panel.first = panel.end) {
		panel.end = end_of_protocol(&panel, panel.first);
		if (!is_wanted(&panel, panel.first, protocol))
			continue;
		write_panel(&panel);
		panel.top += PANEL;
	}
	fprintf(out, "</svg>\n");
}
