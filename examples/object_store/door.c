/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Portals does not tell an initiator that it was refused, so a client that guesses its access control entry would wait in vain.  The server
 * lets every process get the list of its users instead; the answer also proves that it is there.
 */
#include <errno.h>

#include "call.h"

static int wait_for_reply(const object_client *client, ptl_handle_md_t md)
{
	ptl_handle_eq_t eq = client->eq;
	for (;;) {
		ptl_event_t event;
		int which, rc = PtlEQPoll(&eq, 1, client->options.repeat, &event, &which);
		if (rc == PTL_EQ_EMPTY)
			return -ETIMEDOUT;
		if (rc != PTL_OK && rc != PTL_EQ_DROPPED)
			return -EIO;
		if (event.md_handle == md)
			return event.ni_fail_type != PTL_NI_OK               ? -EHOSTUNREACH
			       : event.mlength != sizeof(struct object_door) ? -EPROTO
									     : 0;
	}
}

static int find_entry(object_client *client, const struct object_door *door)
{
	ptl_uid_t uid;
	if (door->magic != OBJECT_MAGIC || door->users > OBJECT_USERS)
		return -EPROTO;
	if (PtlGetUid(client->ni, &uid) != PTL_OK)
		return -EIO;
	for (ptl_ac_index_t i = 0; i < door->users; i++)
		if (door->uid[i] == uid) {
			client->entry = i;
			client->met = 1;
			return 0;
		}
	return -EACCES;
}

int object_read_door(object_client *client)
{
	struct object_door door = {0};
	ptl_handle_md_t handle;
	ptl_md_t md = {.start = &door,
		       .length = sizeof(door),
		       .threshold = PTL_MD_THRESH_INF,
		       .options = PTL_MD_EVENT_START_DISABLE,
		       .eq_handle = client->eq};
	if (PtlMDBind(client->ni, md, PTL_RETAIN, &handle) != PTL_OK)
		return -EIO;
	int rc = PtlGet(handle, client->server, OBJECT_DOOR, OBJECT_DOOR_ENTRY, 0, 0) == PTL_OK ? 0 : -EIO;
	if (rc == 0)
		rc = wait_for_reply(client, handle);
	while (PtlMDUnlink(handle) == PTL_MD_IN_USE)
		object_wait_a_moment(client);
	return rc ? rc : find_entry(client, &door);
}
