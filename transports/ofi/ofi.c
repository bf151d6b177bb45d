/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The libfabric transport as the engine sees it, and which of its three tables serves an interface: this one where addresses
 * follow from (nid, pid), ofi_published.c's, or shm's, which a claim chooses.  Nothing else of the transport knows of them.
 */
#include "transports/ofi/ofi.h"
#include "transports/ofi/ofi_address.h"
#include "transports/ofi/ofi_common.h"
#include "transports/ofi/ofi_forget.h"
#include "transports/ofi/ofi_library.h"
#include "transports/ofi/ofi_provider.h"
#include "transports/ofi/ofi_published.h"
#include "transports/ofi/ofi_shm.h"
#include "transports/ofi/ofi_sockets.h"

static int ofi_transport_claim(struct transport_config *config, struct transport **out)
{
	int rc = ofi_claim(config, out);

	if (rc)
		return rc;
	struct ofi *ofi = ofi_of(*out);

	ofi_choose_ops(ofi, config->settings);
	ofi_library_prepare();
	ofi_prepare_verbs(ofi->provider, OFI_DEVICES);
	return 0;
}

const struct transport_ops transport_ofi = {
	OFI_SOCKET_OPS,
	.claim = ofi_transport_claim,
	.resolve = ofi_resolve,
	.forget = ofi_forget,
	.own_attempt = ofi_own_attempt,
	.send = ofi_send_uncancelled,
	.send_placed = ofi_send_placed_uncancelled,
	.read = ofi_read_uncancelled,
	.sever = ofi_sever,
	.sever_unheard = ofi_sever_unheard,
};

void ofi_choose_ops(struct ofi *ofi, const struct settings *settings)
{
	struct ofi_profile chosen[OFI_PROFILES];

	ofi_choose_profiles(ofi->provider, chosen);
	ofi->published = ofi_is_published(ofi->provider, settings);
	ofi->publish = ofi->published ? ofi_publish : NULL;
	ofi->take_name = chosen[0].named ? ofi_shm_take_name : NULL;
	if (chosen[0].named)
		ofi->base.ops = &transport_ofi_shm;
	else
		ofi->base.ops = ofi->published ? &transport_ofi_published : &transport_ofi;
}
