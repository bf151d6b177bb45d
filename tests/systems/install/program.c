/* SPDX-License-Identifier: BSD-3-Clause */
/* What a user's first program needs of an installed library: a put to oneself, seen by both ends. */
#include <portals3.h>
#include <portals3_nic.h>

#include <stdio.h>

int main(void)
{
	int interfaces, puts = 0, sends = 0;
	char source[] = "installed", window[16] = "";
	ptl_handle_ni_t ni;
	ptl_handle_eq_t queue;
	ptl_handle_me_t entry;
	ptl_handle_md_t from, to;
	ptl_process_id_t self;
	ptl_event_t event;
	if (PtlLibraryVersion() != PTL_LIBRARY_VERSION)
		return fprintf(stderr, "the library is version %d\n", PtlLibraryVersion()), 1;
	if (PtlInit(&interfaces) || PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni) || PtlGetId(ni, &self) ||
	    PtlEQAlloc(ni, 8, PTL_EQ_HANDLER_NONE, &queue))
		return fprintf(stderr, "cannot start: %s\n", PtlNicErrorText()), 1;
	ptl_md_t md = {window, sizeof(window), 1, 0, PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, NULL, queue};
	if (PtlMEAttach(ni, 0, self, 7, 0, PTL_UNLINK, PTL_INS_AFTER, &entry) ||
	    PtlMDAttach(entry, md, PTL_UNLINK, &to))
		return 1;
	md.start = source, md.length = sizeof(source);
	if (PtlMDBind(ni, md, PTL_RETAIN, &from) || PtlPut(from, PTL_NO_ACK_REQ, self, 0, 0, 7, 0, 0))
		return 1;
	while ((puts < 1 || sends < 1) && PtlEQWait(queue, &event) == PTL_OK) {
		puts += event.type == PTL_EVENT_PUT_END;
		sends += event.type == PTL_EVENT_SEND_END;
	}
	PtlFini();
	return puts == 1 && sends == 1 && window[0] == 'i' ? 0 : 1;
}
