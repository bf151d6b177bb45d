/* SPDX-License-Identifier: BSD-3-Clause */
/* Stubs of base/report.h for targets whose input is wrong on purpose: nothing is said of it. */
#ifndef TESTS_FUZZ_SILENT_H
#define TESTS_FUZZ_SILENT_H

#include "base/report.h"

int report_error(int error, const char *format, ...)
{
	(void)format;
	return error;
}

const char *report_descriptor_hint(int error)
{
	(void)error;
	return "";
}

void report(enum log_level level, const char *format, ...)
{
	(void)level, (void)format;
}

#endif
