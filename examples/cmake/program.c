/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens an interface and says which library it runs with. */
#include <portals3.h>
#include <stdio.h>

int main(void)
{
	int interfaces;
	ptl_handle_ni_t ni;
	ptl_process_id_t self;

	if (PtlInit(&interfaces) || PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni) || PtlGetId(ni, &self))
		return 1;
	printf("portals3 %d, compiled with %d: process %u\n", PtlLibraryVersion(), PTL_LIBRARY_VERSION, self.pid);
	PtlFini();
	return PtlLibraryVersion() != PTL_LIBRARY_VERSION;
}
