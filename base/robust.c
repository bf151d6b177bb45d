/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/robust.h"

#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

void robust_hold(struct robust *robust, _Atomic uint32_t *word)
{
	*robust = (struct robust){
		.head = {.list = {&robust->entry}, .futex_offset = (char *)word - (char *)&robust->entry},
		.entry = {&robust->head.list},
	};
	/* Listed before it holds our id: a thread that ends between the two leaves 0. */
	if (syscall(SYS_set_robust_list, &robust->head, sizeof(robust->head)) == 0)
		atomic_store_explicit(word, (uint32_t)syscall(SYS_gettid), memory_order_release);
}
