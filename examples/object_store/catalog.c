/* SPDX-License-Identifier: BSD-3-Clause */
#include "catalog.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "points.h"

#define REMEMBERED (24 * 3600) /* seconds for which the id of a change is kept */

struct catalog {
	pthread_mutex_t lock;
	sqlite3 *base;
	uint64_t next_file;
	const struct files *files;
};

/* FULL: a commit is on the disk when it returns, also with a write-ahead log. */
static const char schema[] = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
			     "CREATE TABLE IF NOT EXISTS objects (name BLOB PRIMARY KEY, file INTEGER UNIQUE,"
			     " size INTEGER, crc INTEGER, uid INTEGER, changed INTEGER) WITHOUT ROWID;"
			     "CREATE TABLE IF NOT EXISTS changes (id BLOB PRIMARY KEY, operation INTEGER, name BLOB,"
			     " size INTEGER, crc INTEGER, uid INTEGER, changed INTEGER) WITHOUT ROWID;"
			     "CREATE INDEX IF NOT EXISTS changes_age ON changes (changed);";

static int complain(const struct catalog *catalog)
{
	int code = sqlite3_errcode(catalog->base);
	fprintf(stderr, "object_server: index: %s\n", sqlite3_errmsg(catalog->base));
	return code == SQLITE_FULL ? -ENOSPC : code == SQLITE_NOMEM ? -ENOMEM : -EIO;
}

/* What a parameter of a statement, a question mark, stands for. */
struct value {
	const void *bytes; /* NULL: a number */
	int64_t number;    /* ... or how many bytes */
};
#define NUMBER(n)          ((struct value){NULL, (int64_t)(n)})
#define BLOB(from, length) ((struct value){from, (int64_t)(length)})

/* NULL if SQLite refuses. */
static sqlite3_stmt *prepare(const struct catalog *catalog, const char *text, const struct value *values, int count)
{
	sqlite3_stmt *statement;
	if (sqlite3_prepare_v2(catalog->base, text, -1, &statement, NULL) != SQLITE_OK)
		return NULL;
	for (int i = 0; i < count; i++) {
		if (values[i].bytes)
			sqlite3_bind_blob(statement, i + 1, values[i].bytes, (int)values[i].number, SQLITE_STATIC);
		else
			sqlite3_bind_int64(statement, i + 1, values[i].number);
	}
	return statement;
}

/* Runs a statement that returns no row. */
static int run(const struct catalog *catalog, const char *text, const struct value *values, int count)
{
	sqlite3_stmt *statement = prepare(catalog, text, values, count);
	int rc = statement && sqlite3_step(statement) == SQLITE_DONE ? 0 : complain(catalog);
	sqlite3_finalize(statement);
	return rc;
}

static uint64_t column(sqlite3_stmt *statement, int index)
{
	return (uint64_t)sqlite3_column_int64(statement, index);
}

static int find_next_file(struct catalog *catalog)
{
	sqlite3_stmt *statement = prepare(catalog, "SELECT max(file) FROM objects", NULL, 0);
	int rc = statement && sqlite3_step(statement) == SQLITE_ROW ? 0 : complain(catalog);
	if (rc == 0)
		catalog->next_file = column(statement, 0) + 1;
	sqlite3_finalize(statement);
	return rc;
}

int catalog_open(const char *directory, const struct files *files, struct catalog **catalog)
{
	char path[4096];
	struct catalog *opened = calloc(1, sizeof(*opened));
	if (!opened)
		return -ENOMEM;
	pthread_mutex_init(&opened->lock, NULL);
	opened->files = files;
	snprintf(path, sizeof(path), "%s/index.sqlite", directory);
	int rc = sqlite3_open(path, &opened->base) == SQLITE_OK &&
				 sqlite3_exec(opened->base, schema, NULL, NULL, NULL) == SQLITE_OK
			 ? find_next_file(opened)
			 : complain(opened);
	if (rc)
		catalog_close(opened);
	else
		*catalog = opened;
	return rc;
}

void catalog_close(struct catalog *catalog)
{
	sqlite3_close(catalog->base);
	pthread_mutex_destroy(&catalog->lock);
	free(catalog);
}

uint64_t catalog_new_file(struct catalog *catalog)
{
	pthread_mutex_lock(&catalog->lock);
	uint64_t number = catalog->next_file++;
	pthread_mutex_unlock(&catalog->lock);
	return number;
}

bool catalog_has_file(struct catalog *catalog, uint64_t number)
{
	pthread_mutex_lock(&catalog->lock);
	if (catalog->next_file <= number)
		catalog->next_file = number + 1;
	sqlite3_stmt *statement =
		prepare(catalog, "SELECT 1 FROM objects WHERE file = ?", (struct value[]){NUMBER(number)}, 1);
	bool has = !statement || sqlite3_step(statement) != SQLITE_DONE; /* in doubt the file stays */
	sqlite3_finalize(statement);
	pthread_mutex_unlock(&catalog->lock);
	return has;
}

static int find(const struct catalog *catalog, const struct object_request *request, struct catalog_entry *entry)
{
	sqlite3_stmt *statement = prepare(catalog, "SELECT file, size, crc, uid, changed FROM objects WHERE name = ?",
					  (struct value[]){BLOB(request->name, request->name_length)}, 1);
	int step = statement ? sqlite3_step(statement) : SQLITE_ERROR;
	int rc = step == SQLITE_DONE ? -ENOENT : step == SQLITE_ROW ? 0 : complain(catalog);
	if (rc == 0)
		*entry = (struct catalog_entry){.file = column(statement, 0),
						.size = column(statement, 1),
						.crc = (uint32_t)column(statement, 2),
						.uid = (uint32_t)column(statement, 3),
						.changed = (int64_t)column(statement, 4)};
	sqlite3_finalize(statement);
	return rc;
}

int catalog_find(struct catalog *catalog, const struct object_request *request, struct catalog_entry *entry)
{
	pthread_mutex_lock(&catalog->lock);
	int rc = find(catalog, request, entry);
	pthread_mutex_unlock(&catalog->lock);
	return rc;
}

static bool same_change(sqlite3_stmt *row, const struct object_request *request, uint32_t uid)
{
	return column(row, 0) == request->operation && column(row, 4) == uid &&
	       sqlite3_column_bytes(row, 1) == (int)request->name_length &&
	       memcmp(sqlite3_column_blob(row, 1), request->name, request->name_length) == 0 &&
	       (request->operation != OBJECT_PUT ||
		(column(row, 2) == request->size && column(row, 3) == request->crc));
}

int catalog_applied(struct catalog *catalog, const struct object_request *request, uint32_t uid,
		    struct catalog_entry *entry)
{
	pthread_mutex_lock(&catalog->lock);
	sqlite3_stmt *row =
		prepare(catalog, "SELECT operation, name, size, crc, uid, changed FROM changes WHERE id = ?",
			(struct value[]){BLOB(request->id.bytes, sizeof(request->id.bytes))}, 1);
	int step = row ? sqlite3_step(row) : SQLITE_ERROR;
	int rc = step == SQLITE_DONE              ? 0
		 : step != SQLITE_ROW             ? complain(catalog)
		 : same_change(row, request, uid) ? 1
						  : -EINVAL;
	if (rc == 1)
		*entry = (struct catalog_entry){.size = column(row, 2),
						.crc = (uint32_t)column(row, 3),
						.uid = uid,
						.changed = (int64_t)column(row, 5)};
	sqlite3_finalize(row);
	pthread_mutex_unlock(&catalog->lock);
	return rc;
}

/* Within the transaction of the change, and forgets those that are too old to be repeated. */
static int remember(const struct catalog *catalog, const struct object_request *request, uint32_t uid,
		    const struct catalog_entry *entry)
{
	int64_t now = time(NULL);
	int rc = run(catalog, "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?)",
		     (struct value[]){BLOB(request->id.bytes, sizeof(request->id.bytes)), NUMBER(request->operation),
				      BLOB(request->name, request->name_length), NUMBER(entry->size),
				      NUMBER(entry->crc), NUMBER(uid), NUMBER(now)},
		     7);
	return rc ? rc
		  : run(catalog, "DELETE FROM changes WHERE changed < ?", (struct value[]){NUMBER(now - REMEMBERED)},
			1);
}

static int commit(const struct catalog *catalog, int rc)
{
	object_point("in-transaction");
	if (rc == 0)
		rc = run(catalog, "COMMIT", NULL, 0);
	if (rc)
		sqlite3_exec(catalog->base, "ROLLBACK", NULL, NULL, NULL);
	else
		object_point("committed");
	return rc;
}

int catalog_replace(struct catalog *catalog, const struct object_request *request, const struct catalog_entry *entry,
		    uint64_t *old_file)
{
	struct catalog_entry old = {0};
	pthread_mutex_lock(&catalog->lock);
	int rc = find(catalog, request, &old);
	if (rc == 0)
		files_mark(catalog->files, old.file);
	if (rc == 0 || rc == -ENOENT)
		rc = run(catalog, "BEGIN IMMEDIATE", NULL, 0);
	if (rc == 0) {
		rc = run(catalog,
			 "INSERT INTO objects VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET"
			 " file = excluded.file, size = excluded.size, crc = excluded.crc, uid = excluded.uid,"
			 " changed = excluded.changed",
			 (struct value[]){BLOB(request->name, request->name_length), NUMBER(entry->file),
					  NUMBER(entry->size), NUMBER(entry->crc), NUMBER(entry->uid),
					  NUMBER(entry->changed)},
			 6);
		if (rc == 0)
			rc = remember(catalog, request, entry->uid, entry);
		rc = commit(catalog, rc);
	}
	pthread_mutex_unlock(&catalog->lock);
	*old_file = rc == 0 ? old.file : 0;
	return rc;
}

int catalog_remove(struct catalog *catalog, const struct object_request *request, uint32_t uid,
		   struct catalog_entry *entry, uint64_t *old_file)
{
	pthread_mutex_lock(&catalog->lock);
	int rc = find(catalog, request, entry);
	if (rc == 0)
		files_mark(catalog->files, entry->file);
	if (rc == 0)
		rc = run(catalog, "BEGIN IMMEDIATE", NULL, 0);
	if (rc == 0) {
		rc = run(catalog, "DELETE FROM objects WHERE name = ?",
			 (struct value[]){BLOB(request->name, request->name_length)}, 1);
		if (rc == 0)
			rc = remember(catalog, request, uid, entry);
		rc = commit(catalog, rc);
	}
	pthread_mutex_unlock(&catalog->lock);
	*old_file = rc == 0 ? entry->file : 0;
	return rc;
}

static void write_record(FILE *out, sqlite3_stmt *row)
{
	struct object_record record = {.size = column(row, 1),
				       .crc = (uint32_t)column(row, 2),
				       .uid = (uint32_t)column(row, 3),
				       .changed = (int64_t)column(row, 4),
				       .name_length = (uint32_t)sqlite3_column_bytes(row, 0)};
	fwrite(&record, sizeof(record), 1, out);
	fwrite(sqlite3_column_blob(row, 0), 1, record.name_length, out);
}

int catalog_list(struct catalog *catalog, char **records, size_t *length)
{
	FILE *out = open_memstream(records, length);
	if (!out)
		return -ENOMEM;
	pthread_mutex_lock(&catalog->lock);
	sqlite3_stmt *row =
		prepare(catalog, "SELECT name, size, crc, uid, changed FROM objects ORDER BY name", NULL, 0);
	int step = SQLITE_ERROR;
	while (row && (step = sqlite3_step(row)) == SQLITE_ROW)
		write_record(out, row);
	int rc = step == SQLITE_DONE ? 0 : complain(catalog);
	sqlite3_finalize(row);
	pthread_mutex_unlock(&catalog->lock);
	if (fclose(out) != 0 && rc == 0)
		rc = -ENOMEM;
	if (rc)
		free(*records);
	return rc;
}
