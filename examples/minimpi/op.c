/* SPDX-License-Identifier: BSD-3-Clause */
/* What reductions combine with. */
#include "op.h"

#include <complex.h>
#include <stdlib.h>

#include "errors.h"
#include "job.h"
#include "type.h"

enum code {
	OP_USER,
	OP_MAX,
	OP_MIN,
	OP_SUM,
	OP_PROD,
	OP_LAND,
	OP_LOR,
	OP_LXOR,
	OP_BAND,
	OP_BOR,
	OP_BXOR,
	OP_MAXLOC,
	OP_MINLOC,
	OP_REPLACE,
	OP_NO_OP
};

struct minimpi_op {
	enum code code;
	bool commutes;
	MPI_User_function *function;
};

struct minimpi_op minimpi_max = {OP_MAX, true, NULL}, minimpi_min = {OP_MIN, true, NULL},
		  minimpi_sum = {OP_SUM, true, NULL}, minimpi_prod = {OP_PROD, true, NULL},
		  minimpi_land = {OP_LAND, true, NULL}, minimpi_band = {OP_BAND, true, NULL},
		  minimpi_lor = {OP_LOR, true, NULL}, minimpi_bor = {OP_BOR, true, NULL},
		  minimpi_lxor = {OP_LXOR, true, NULL}, minimpi_bxor = {OP_BXOR, true, NULL},
		  minimpi_maxloc = {OP_MAXLOC, true, NULL}, minimpi_minloc = {OP_MINLOC, true, NULL},
		  minimpi_replace = {OP_REPLACE, false, NULL}, minimpi_no_op = {OP_NO_OP, false, NULL};

/* ---- arithmetic: for each C type a function with a loop for each operation ---- */

#define LOOP(expression)                                                                                               \
	for (int i = 0; i < count; i++) {                                                                              \
		const TYPE a = ((const TYPE *)in)[i], b = ((const TYPE *)in_out)[i];                                   \
		((TYPE *)in_out)[i] = (TYPE)(expression);                                                              \
	}                                                                                                              \
	break
#define ORDERED                                                                                                        \
	case OP_MAX:                                                                                                   \
		LOOP(a > b ? a : b);                                                                                   \
	case OP_MIN:                                                                                                   \
		LOOP(a < b ? a : b);
#define ADDED                                                                                                          \
	case OP_SUM:                                                                                                   \
		LOOP(a + b);                                                                                           \
	case OP_PROD:                                                                                                  \
		LOOP(a *b);
#define LOGICAL                                                                                                        \
	case OP_LAND:                                                                                                  \
		LOOP(a &&b);                                                                                           \
	case OP_LOR:                                                                                                   \
		LOOP(a || b);                                                                                          \
	case OP_LXOR:                                                                                                  \
		LOOP(!a != !b);
#define BITWISE                                                                                                        \
	case OP_BAND:                                                                                                  \
		LOOP(a &b);                                                                                            \
	case OP_BOR:                                                                                                   \
		LOOP(a | b);                                                                                           \
	case OP_BXOR:                                                                                                  \
		LOOP(a ^ b);
#define FUNCTION(name, cases)                                                                                          \
	static void name(enum code code, const void *in, void *in_out, int count)                                      \
	{                                                                                                              \
		switch (code) {                                                                                        \
			cases default : break;                                                                         \
		}                                                                                                      \
	}

#define TYPE int8_t
FUNCTION(combine_int8, ORDERED ADDED LOGICAL BITWISE)
#undef TYPE
#define TYPE int16_t
FUNCTION(combine_int16, ORDERED ADDED LOGICAL BITWISE)
#undef TYPE
/* Sums and products as of unsigned numbers: the same bits, and no overflow that the language leaves undefined. */
#define TYPE uint32_t
FUNCTION(combine_uint32, ORDERED ADDED LOGICAL BITWISE)
#undef TYPE
#define TYPE int32_t
FUNCTION(order_int32, ORDERED)
#undef TYPE
#define TYPE uint64_t
FUNCTION(combine_uint64, ORDERED ADDED LOGICAL BITWISE)
#undef TYPE
#define TYPE int64_t
FUNCTION(order_int64, ORDERED)
#undef TYPE
#define TYPE uint8_t
FUNCTION(combine_uint8, ORDERED ADDED LOGICAL BITWISE)
#undef TYPE
#define TYPE uint16_t
FUNCTION(combine_uint16, ORDERED LOGICAL BITWISE case OP_SUM : LOOP(a + b); case OP_PROD : LOOP((unsigned)a * b);)
#undef TYPE
#define TYPE _Bool
FUNCTION(combine_bool, LOGICAL)
#undef TYPE
#define TYPE float
FUNCTION(combine_float, ORDERED ADDED)
#undef TYPE
#define TYPE double
FUNCTION(combine_double, ORDERED ADDED)
#undef TYPE
#define TYPE long double
FUNCTION(combine_ldouble, ORDERED ADDED)
#undef TYPE
#define TYPE float _Complex
FUNCTION(combine_cfloat, ADDED)
#undef TYPE
#define TYPE double _Complex
FUNCTION(combine_cdouble, ADDED)
#undef TYPE
#define TYPE long double _Complex
FUNCTION(combine_cldouble, ADDED)
#undef TYPE

typedef void combine_function(enum code code, const void *in, void *in_out, int count);

static combine_function *integer_function(enum code code, size_t size, bool is_signed)
{
	const bool orders = is_signed && (code == OP_MAX || code == OP_MIN);
	if (size == 1)
		return is_signed ? combine_int8 : combine_uint8;
	if (size == 2)
		return is_signed ? combine_int16 : combine_uint16;
	if (size == 4)
		return orders ? order_int32 : combine_uint32;
	return orders ? order_int64 : combine_uint64;
}

static combine_function *arithmetic(enum code code, MPI_Datatype type)
{
	const bool complex_type = type->kind == TYPE_COMPLEX;
	switch (type->kind) {
	case TYPE_LOGICAL:
		return combine_bool;
	case TYPE_FLOATING:
	case TYPE_COMPLEX:
		if (type->size == sizeof(float) * (complex_type ? 2 : 1))
			return complex_type ? combine_cfloat : combine_float;
		if (type->size == sizeof(double) * (complex_type ? 2 : 1))
			return complex_type ? combine_cdouble : combine_double;
		return complex_type ? combine_cldouble : combine_ldouble;
	default:
		return integer_function(code, type->size, type->is_signed);
	}
}

/* ---- the greatest, or the smallest, and where it is: of several the one with the smallest index ---- */

#define LOCATE(name, c_type)                                                                                           \
	static void name(bool greatest, const void *in, void *in_out, int count)                                       \
	{                                                                                                              \
		const struct pair {                                                                                    \
			c_type value;                                                                                  \
			int index;                                                                                     \
		} *a = in;                                                                                             \
		struct pair *b = in_out;                                                                               \
		for (int i = 0; i < count; i++)                                                                        \
			if ((greatest ? a[i].value > b[i].value : a[i].value < b[i].value) ||                          \
			    (a[i].value == b[i].value && a[i].index < b[i].index))                                     \
				b[i] = a[i];                                                                           \
	}

LOCATE(locate_float, float)
LOCATE(locate_double, double)
LOCATE(locate_long, long)
LOCATE(locate_int, int)
LOCATE(locate_short, short)
LOCATE(locate_ldouble, long double)

static void locate(bool greatest, const void *in, void *in_out, int count, MPI_Datatype type)
{
	static const struct {
		MPI_Datatype type;
		void (*function)(bool greatest, const void *in, void *in_out, int count);
	} table[] = {{MPI_FLOAT_INT, locate_float}, {MPI_DOUBLE_INT, locate_double},
		     {MPI_LONG_INT, locate_long},   {MPI_2INT, locate_int},
		     {MPI_SHORT_INT, locate_short}, {MPI_LONG_DOUBLE_INT, locate_ldouble}};
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (table[i].type == type)
			table[i].function(greatest, in, in_out, count);
}

/* ---- */

int op_check(MPI_Op op, MPI_Datatype type)
{
	/* By kind of type: which operations the standard defines for it. */
	enum {
		ORDER = 1 << OP_MAX | 1 << OP_MIN,
		ADD = 1 << OP_SUM | 1 << OP_PROD,
		LOGIC = 1 << OP_LAND | 1 << OP_LOR | 1 << OP_LXOR,
		BITS = 1 << OP_BAND | 1 << OP_BOR | 1 << OP_BXOR,
		LOCATION = 1 << OP_MAXLOC | 1 << OP_MINLOC,
		ANY = 1 << OP_USER | 1 << OP_REPLACE | 1 << OP_NO_OP
	};
	static const int defined[] = {[TYPE_NONE] = ANY,
				      [TYPE_INTEGER] = ANY | ORDER | ADD | LOGIC | BITS,
				      [TYPE_FLOATING] = ANY | ORDER | ADD,
				      [TYPE_COMPLEX] = ANY | ADD,
				      [TYPE_LOGICAL] = ANY | LOGIC,
				      [TYPE_BYTE] = ANY | BITS,
				      [TYPE_PAIR] = ANY | LOCATION};
	if (!type || !type->committed)
		return MPI_ERR_TYPE;
	return op && defined[type->kind] & 1 << op->code ? MPI_SUCCESS : MPI_ERR_OP;
}

int op_check_predefined(MPI_Op op, MPI_Datatype type)
{
	return op && op->code == OP_USER ? MPI_ERR_OP : op_check(op, type);
}

void op_apply(MPI_Op op, const void *in, void *in_out, int count, MPI_Datatype type)
{
	if (op->code == OP_USER)
		op->function((void *)in, in_out, &count, &type);
	else if (op->code == OP_REPLACE)
		type_copy(type, in, in_out, count);
	else if (op->code == OP_MAXLOC || op->code == OP_MINLOC)
		locate(op->code == OP_MAXLOC, in, in_out, count, type);
	else if (op->code != OP_NO_OP)
		arithmetic(op->code, type)(op->code, in, in_out, count);
}

int MPI_Op_create(MPI_User_function *function, int commutes, MPI_Op *op)
{
	if (!function || !op)
		return errors_check(NULL, MPI_ERR_ARG, __func__);
	*op = job_memory(sizeof(**op));
	**op = (struct minimpi_op){OP_USER, commutes != 0, function};
	return MPI_SUCCESS;
}

int MPI_Op_free(MPI_Op *op)
{
	if (!op || !*op || (*op)->code != OP_USER)
		return errors_check(NULL, op ? MPI_ERR_OP : MPI_ERR_ARG, __func__);
	free(*op);
	*op = MPI_OP_NULL;
	return MPI_SUCCESS;
}

int MPI_Op_commutative(MPI_Op op, int *commutes)
{
	if (!op || !commutes)
		return errors_check(NULL, op ? MPI_ERR_ARG : MPI_ERR_OP, __func__);
	*commutes = op->commutes;
	return MPI_SUCCESS;
}

int MPI_Reduce_local(const void *in, void *in_out, int count, MPI_Datatype type, MPI_Op op)
{
	int error = errors_check_data(in, count, type);
	if (!error)
		error = errors_check_data(in_out, count, type);
	if (!error && (in == MPI_IN_PLACE || in_out == MPI_IN_PLACE))
		error = MPI_ERR_BUFFER;
	if (!error)
		error = errors_check_apart(in, in_out, count);
	if (!error)
		error = op_check(op, type);
	if (!error)
		op_apply(op, in, in_out, count, type);
	return errors_check(NULL, error, __func__);
}
