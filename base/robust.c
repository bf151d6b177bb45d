/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/robust.h"

#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* It is read by the kernel alone, when the thread ends. */
static void set_next(struct robust *robust, struct robust_list *next)
{
	*(struct robust_list *volatile *)&robust->head.list.next = next;
}

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

void robust_release(struct robust *robust, _Atomic uint32_t *word)
{
	/* Pairs with loads in other processes: what they may not rely on any more comes later. */
	atomic_store_explicit(word, 0, memory_order_seq_cst);
	set_next(robust, &robust->head.list);
}
