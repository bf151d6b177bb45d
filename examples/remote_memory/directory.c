/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Virtual addresses.  GRIM's network interface translates the address of each message, by a cache and else by its host.  Here interfaces
 * match bits, so the initiator asks once where an address is: it gets the other's directory, which takes no host there, and looks.
 */
#include "internal.h"

static void copy_event(rm_domain *domain, struct source *source, const ptl_event_t *event)
{
	(void)source;
	rm_operation_event(domain, event);
}

static int bind_copy(rm_domain *domain)
{
	const ptl_md_t copy = {.start = domain->copy,
			       .length = sizeof(domain->copy),
			       .threshold = PTL_MD_THRESH_INF,
			       .options = PTL_MD_EVENT_START_DISABLE,
			       .user_ptr = &domain->copied,
			       .eq_handle = domain->eq};
	return PtlMDBind(domain->ni, copy, PTL_RETAIN, &domain->copy_md) == PTL_OK ? 0 : -EIO;
}

int rm_directory_open(rm_domain *domain)
{
	ptl_handle_md_t md;
	domain->copied.event = copy_event;
	const ptl_md_t shown = {.start = domain->directory,
				.length = sizeof(domain->directory),
				.threshold = PTL_MD_THRESH_INF,
				.options = PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_END_DISABLE,
				.eq_handle = PTL_EQ_NONE};
	int rc = bind_copy(domain);
	if (rc)
		return rc;
	return rm_attach(domain, (ptl_process_id_t){PTL_NID_ANY, PTL_PID_ANY}, bits_of(DIRECTORY, 0, 0), shown,
			 PTL_RETAIN, &domain->directory_me, &md);
}

void rm_directory_close(rm_domain *domain)
{
	rm_detach(domain, domain->directory_me);
	rm_release(domain, domain->copy_md);
}

static uint64_t checked(const struct directory_entry *entry)
{
	return ~(entry->address * 3 ^ entry->length * 5 ^ entry->tag * 7);
}

/* The thread sanitizer cannot know that what others get meanwhile is believed only if its check fits, and would call it a race. */
__attribute__((no_sanitize_thread)) void rm_directory_set(rm_domain *domain, unsigned number, const void *memory,
							  size_t length, uint32_t tag)
{
	struct directory_entry entry = {(uintptr_t)memory, length, tag, 0};
	entry.check = checked(&entry);
	domain->directory[number] = entry;
}

static int look(const rm_domain *domain, uint64_t address, size_t length, struct rm_place *place)
{
	for (unsigned i = 0; i < RM_BUFFERS; i++) {
		const struct directory_entry *entry = &domain->copy[i];
		if (entry->check != checked(entry) || address < entry->address ||
		    address - entry->address > entry->length || length > entry->length - (address - entry->address))
			continue;
		*place = (struct rm_place){(uint32_t)entry->tag, address - entry->address};
		return 0;
	}
	return -ENXIO;
}

/*
 * Portals drops the question where no domain is, and no answer comes.  One that comes late finds no descriptor, and does not write into
 * the copy that the next question asks for.  -EBUSY: the question is being sent or answered at this moment.
 */
static int forget_question(rm_domain *domain)
{
	if (PtlMDUnlink(domain->copy_md) == PTL_MD_IN_USE)
		return -EBUSY;
	rm_take_events(domain); /* the last of that descriptor */
	if (domain->asked.status == RM_PENDING) {
		rm_operation_undo(domain, domain->question);
		domain->asked.status = 0;
	}
	return bind_copy(domain);
}

int rm_translate(rm_domain *domain, ptl_process_id_t peer, uint64_t address, size_t length, ptl_time_t milliseconds,
		 struct rm_place *place)
{
	int rc = 0;
	if (domain->in_handler)
		return -EDEADLK;
	if (length == 0)
		return -EINVAL;
	if (domain->asked.status == RM_PENDING)
		rc = forget_question(domain);
	if (rc == 0)
		rc = rm_operation_begin(domain, &domain->asked, 1, &domain->question);
	if (rc)
		return rc;
	if (PtlGetRegion(domain->copy_md, 0, sizeof(domain->copy), peer, domain->options.pt_index, 0,
			 bits_of(DIRECTORY, domain->question, 0), 0) != PTL_OK) {
		rm_operation_undo(domain, domain->question);
		domain->asked.status = 0;
		return -EIO;
	}
	rc = rm_wait(domain, &domain->asked, milliseconds);
	if (rc == -ETIMEDOUT)
		forget_question(domain);
	return rc ? rc : look(domain, address, length, place);
}
