// SPDX-License-Identifier: BSD-3-Clause
// A program as the C++ users of Portals were written: headers by macros, names of other implementations defined under
// #ifndef, objects that an early library wanted of its program, events copied into containers.  Two clients, there before
// their server, call it; it gets their arguments and puts the sum back.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include PORTALS_HEADER
#include PORTALS_NAL_HEADER
#include PORTALS_RT_HEADER

#ifndef PTL_IFACE_SERVER
#define PTL_IFACE_SERVER PTL_IFACE_DEFAULT
#endif
#ifndef PTL_IFACE_DUP
#define PTL_IFACE_DUP PTL_OK
#endif
#ifndef PTL_EQ_HANDLER_NONE
#define PTL_EQ_HANDLER_NONE (ptl_eq_handler_t) NULL
#endif
#ifndef PTL_MD_EVENT_AUTO_UNLINK_ENABLE
#define PTL_MD_EVENT_AUTO_UNLINK_ENABLE 0
#endif

FILE *utcp_api_out, *utcp_lib_out;

enum { SERVER_PID = 3999000, INDEX = 5, CALLS = 20, CLIENTS = 2, SLICE = 100, SLICES = 200 };

static void check(int rc, const char *what)
{
	if (rc == PTL_OK || rc == PTL_IFACE_DUP)
		return;
	std::fprintf(stderr, "%s: %s\n", what, ptl_err_str[rc]);
	std::exit(1);
}
#define CHECK(call) check(call, #call)

class Endpoint
{
	ptl_handle_ni_t ni;
	ptl_handle_eq_t eq;
	std::vector<ptl_event_t> pending;

	ptl_event_t next()
	{
		ptl_event_t event;
		int which, rc = PTL_EQ_EMPTY;

		std::memset(&event, 0, sizeof(ptl_event_t));
		for (int i = 0; rc == PTL_EQ_EMPTY && i < SLICES; i++)
			rc = PtlEQPoll(&eq, 1, SLICE, &event, &which);
		CHECK(rc);
		if (event.ni_fail_type != PTL_NI_OK) {
			std::fprintf(stderr, "%s: %s\n", PtlEventKindStr(event.type),
				     PtlNIFailStr(ni, event.ni_fail_type));
			std::exit(1);
		}
		return event;
	}

	// An operation is over when its descriptor is gone; what belongs to others waits.
	void finish(ptl_handle_md_t md)
	{
		for (;;) {
			ptl_event_t event = next();
			if (event.md_handle != md)
				pending.push_back(event);
			else if (event.type == PTL_EVENT_UNLINK)
				return;
		}
	}

      public:
	ptl_process_id_t id;

	Endpoint(ptl_interface_t interface, ptl_pid_t pid) : ni(PTL_INVALID_HANDLE), eq(PTL_EQ_NONE)
	{
		int interfaces;
		const ptl_process_id_t any = {PTL_NID_ANY, PTL_PID_ANY};

		CHECK(PtlInit(&interfaces));
		CHECK(PtlNIInit(interface, pid, NULL, NULL, &ni));
		CHECK(PtlNIInit(interface, pid, NULL, NULL, &ni));
		CHECK(PtlACEntry(ni, 0, any, PTL_UID_ANY, PTL_JID_ANY, PTL_PT_INDEX_ANY));
		CHECK(PtlEQAlloc(ni, 256, PTL_EQ_HANDLER_NONE, &eq));
		CHECK(PtlGetId(ni, &id));
	}

	~Endpoint()
	{
		PtlEQFree(eq);
		PtlNIFini(ni);
		PtlFini();
	}

	void post(void *start, ptl_size_t length, ptl_match_bits_t bits, unsigned operation, int threshold)
	{
		const ptl_process_id_t any = {PTL_NID_ANY, PTL_PID_ANY};
		ptl_handle_me_t me;
		ptl_handle_md_t handle;
		ptl_md_t md = {start, length, threshold, 0, operation | PTL_MD_EVENT_AUTO_UNLINK_ENABLE, this, eq};

		CHECK(PtlMEAttach(ni, INDEX, any, bits, 0, PTL_UNLINK, PTL_INS_AFTER, &me));
		CHECK(PtlMDAttach(me, md, PTL_UNLINK, &handle));
	}

	void put(void *start, ptl_size_t length, ptl_process_id_t to, ptl_match_bits_t bits)
	{
		ptl_md_t md = {start, length, 2, 0, 0, this, eq};
		ptl_handle_md_t handle;

		CHECK(PtlMDBind(ni, md, PTL_UNLINK, &handle));
		CHECK(PtlPut(handle, PTL_ACK_REQ, to, INDEX, 0, bits, 0, 0));
		finish(handle);
	}

	void get(void *start, ptl_size_t length, ptl_process_id_t from, ptl_match_bits_t bits)
	{
		ptl_md_t md = {start, length, 1, 0, 0, this, eq};
		ptl_handle_md_t handle;

		CHECK(PtlMDBind(ni, md, PTL_UNLINK, &handle));
		CHECK(PtlGet(handle, from, INDEX, 0, bits, 0));
		finish(handle);
	}

	const void *receive()
	{
		for (;;) {
			if (pending.empty())
				pending.push_back(next());
			const ptl_event_t event = pending.front();
			pending.erase(pending.begin());
			if (event.type == PTL_EVENT_PUT_END)
				return static_cast<char *>(event.md.start) + event.offset;
		}
	}
};

struct Request {
	ptl_process_id_t client;
	ptl_size_t length;
	ptl_match_bits_t arguments, result;
};

static int serve()
{
	Endpoint endpoint(PTL_IFACE_SERVER, SERVER_PID);
	std::vector<Request> requests(CALLS * CLIENTS);

	endpoint.post(&requests[0], requests.size() * sizeof(Request), 1, PTL_MD_OP_PUT, PTL_MD_THRESH_INF);
	for (int i = 0; i < CALLS * CLIENTS; i++) {
		const Request *request = static_cast<const Request *>(endpoint.receive());
		std::vector<unsigned char> arguments(request->length);
		ptl_size_t sum = 0;
		endpoint.get(&arguments[0], request->length, request->client, request->arguments);
		for (std::size_t k = 0; k < arguments.size(); k++)
			sum += arguments[k];
		endpoint.put(&sum, sizeof(sum), request->client, request->result);
	}
	return 0;
}

static int call()
{
	Endpoint endpoint(PTL_IFACE_DEFAULT, PTL_PID_ANY);
	const ptl_process_id_t server = {endpoint.id.nid, SERVER_PID};

	for (int i = 0; i < CALLS; i++) {
		std::vector<unsigned char> arguments(i % 2 ? 300000 : 100, static_cast<unsigned char>(i));
		ptl_size_t result = 0;
		Request request = {endpoint.id, arguments.size(), ptl_match_bits_t(100 + i), ptl_match_bits_t(200 + i)};
		endpoint.post(&arguments[0], arguments.size(), request.arguments, PTL_MD_OP_GET, 1);
		endpoint.post(&result, sizeof(result), request.result, PTL_MD_OP_PUT, 1);
		endpoint.put(&request, sizeof(request), server, 1);
		endpoint.receive();
		if (result != i * arguments.size())
			return 1;
	}
	return 0;
}

int main()
{
	int failed = 0, status;

	for (int i = 0; i < CLIENTS; i++)
		if (fork() == 0)
			_exit(call());
	if (fork() == 0)
		_exit(serve());
	while (wait(&status) > 0)
		failed |= status;
	return failed != 0;
}
