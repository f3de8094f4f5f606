/* SPDX-License-Identifier: Apache-2.0 */
/* Each row is spread over the whole width, so regular fabrics look regular. */
#include "topology_svg.h"

enum {
	HOST_WIDTH = 44, /* of a host's share of its row */
	ROW_HEIGHT = 110,
	BOX_HEIGHT = 30,
	LETTER_WIDTH = 8,
	MARGIN = 20,
};

struct picture {
	const struct topology *topology;
	FILE *file;
	unsigned levels;
	double width;
	double host_x[TOPOLOGY_HOSTS_MAX];
	double switch_x[TOPOLOGY_SWITCHES_MAX];
};

static double y_of_level(const struct picture *picture, unsigned level)
{
	return MARGIN + BOX_HEIGHT / 2.0 + (double)(picture->levels - level) * ROW_HEIGHT;
}

static double spread(const struct picture *picture, unsigned index, unsigned count)
{
	return MARGIN + (picture->width - 2 * MARGIN) * (index + 0.5) / count;
}

static unsigned count_level(const struct topology *topology, unsigned level)
{
	unsigned count = 0;

	for (unsigned i = 0; i < topology->switch_count; i++)
		count += topology->switches[i].level == level;
	return count;
}

static void place(struct picture *picture)
{
	const struct topology *topology = picture->topology;
	unsigned widest = topology->host_count, placed = 0;

	for (unsigned i = 0; i < topology->switch_count; i++) {
		const unsigned level = topology->switches[i].level;
		/* A switch takes the width of two hosts. */
		const unsigned width = 2 * count_level(topology, level);

		if (level > picture->levels)
			picture->levels = level;
		if (width > widest)
			widest = width;
	}
	picture->width = 2 * MARGIN + (double)widest * HOST_WIDTH;
	for (unsigned level = 1; level <= picture->levels; level++) {
		unsigned index = 0;

		for (unsigned i = 0; i < topology->switch_count; i++)
			if (topology->switches[i].level == level)
				picture->switch_x[i] =
				        spread(picture, index++, count_level(topology, level));
	}
	/* Hosts of the same switch are next to each other. */
	for (unsigned i = 0; i < topology->switch_count; i++)
		for (unsigned host = 0; host < topology->host_count; host++)
			if (topology->host_switch[host] == i)
				picture->host_x[host] =
				        spread(picture, placed++, topology->host_count);
}

static void draw_cable(const struct picture *picture, const struct topology_cable *cable)
{
	const struct topology_switch *switches = picture->topology->switches;
	const double lower_x =
	        cable->has_host ? picture->host_x[cable->lower] : picture->switch_x[cable->lower];
	const double lower_y =
	        y_of_level(picture, cable->has_host ? 0 : switches[cable->lower].level);

	fprintf(picture->file,
	        "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"><title>%s</title></line>\n",
	        lower_x, lower_y, picture->switch_x[cable->upper],
	        y_of_level(picture, switches[cable->upper].level), cable->name);
}

static void draw_box(const struct picture *picture, const char *kind, double x, double y,
                     double width, const char *name)
{
	fprintf(picture->file,
	        "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"4\"/>"
	        "<text x=\"%.1f\" y=\"%.1f\">%s</text>\n",
	        kind, x - width / 2, y - BOX_HEIGHT / 2.0, width, BOX_HEIGHT, x, y + 4, name);
}

void lab_topology_draw(const struct topology *topology, FILE *file)
{
	static struct picture picture;

	picture = (struct picture){.topology = topology, .file = file};
	place(&picture);
	const double height = y_of_level(&picture, 0) + BOX_HEIGHT / 2.0 + MARGIN;

	fprintf(file,
	        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\">\n"
	        "<style>rect.page { fill: white } line { stroke: #607080; stroke-width: 1.5 }\n"
	        "rect.switch { fill: #d6e4f0; stroke: #2c5f8a }\n"
	        "rect.host { fill: #f4f1e8; stroke: #8a7a4c }\n"
	        "text { font: 12px sans-serif; text-anchor: middle; fill: #202020 }</style>\n"
	        "<rect class=\"page\" width=\"100%%\" height=\"100%%\"/>\n",
	        picture.width, height);
	for (unsigned i = 0; i < topology->cable_count; i++)
		draw_cable(&picture, &topology->cables[i]);
	for (unsigned i = 0; i < topology->switch_count; i++) {
		const struct topology_switch *of = &topology->switches[i];
		double width = 1;

		for (const char *letter = of->name; *letter; letter++)
			width += LETTER_WIDTH;
		draw_box(&picture, "switch", picture.switch_x[i], y_of_level(&picture, of->level),
		         width < HOST_WIDTH ? HOST_WIDTH : width + LETTER_WIDTH, of->name);
	}
	for (unsigned host = 0; host < topology->host_count; host++) {
		char name[16];

		snprintf(name, sizeof(name), "%u", host);
		draw_box(&picture, "host", picture.host_x[host], y_of_level(&picture, 0),
		         HOST_WIDTH * 0.7, name);
	}
	fputs("</svg>\n", file);
}
