/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of mpi.h: data types. */
#ifndef MINIMPI_DATATYPE_H
#define MINIMPI_DATATYPE_H

extern struct minimpi_type minimpi_char, minimpi_schar, minimpi_uchar, minimpi_byte, minimpi_packed, minimpi_wchar,
	minimpi_short, minimpi_ushort, minimpi_int, minimpi_uint, minimpi_long, minimpi_ulong, minimpi_llong,
	minimpi_ullong, minimpi_float, minimpi_double, minimpi_ldouble, minimpi_bool, minimpi_int8, minimpi_int16,
	minimpi_int32, minimpi_int64, minimpi_uint8, minimpi_uint16, minimpi_uint32, minimpi_uint64, minimpi_aint,
	minimpi_offset, minimpi_count, minimpi_cfloat, minimpi_cdouble, minimpi_cldouble, minimpi_float_int,
	minimpi_double_int, minimpi_long_int, minimpi_2int, minimpi_short_int, minimpi_ldouble_int;
#define MPI_CHAR                  (&minimpi_char)
#define MPI_SIGNED_CHAR           (&minimpi_schar)
#define MPI_UNSIGNED_CHAR         (&minimpi_uchar)
#define MPI_BYTE                  (&minimpi_byte)
#define MPI_PACKED                (&minimpi_packed)
#define MPI_WCHAR                 (&minimpi_wchar)
#define MPI_SHORT                 (&minimpi_short)
#define MPI_UNSIGNED_SHORT        (&minimpi_ushort)
#define MPI_INT                   (&minimpi_int)
#define MPI_UNSIGNED              (&minimpi_uint)
#define MPI_LONG                  (&minimpi_long)
#define MPI_UNSIGNED_LONG         (&minimpi_ulong)
#define MPI_LONG_LONG             (&minimpi_llong)
#define MPI_LONG_LONG_INT         MPI_LONG_LONG
#define MPI_UNSIGNED_LONG_LONG    (&minimpi_ullong)
#define MPI_FLOAT                 (&minimpi_float)
#define MPI_DOUBLE                (&minimpi_double)
#define MPI_LONG_DOUBLE           (&minimpi_ldouble)
#define MPI_C_BOOL                (&minimpi_bool)
#define MPI_INT8_T                (&minimpi_int8)
#define MPI_INT16_T               (&minimpi_int16)
#define MPI_INT32_T               (&minimpi_int32)
#define MPI_INT64_T               (&minimpi_int64)
#define MPI_UINT8_T               (&minimpi_uint8)
#define MPI_UINT16_T              (&minimpi_uint16)
#define MPI_UINT32_T              (&minimpi_uint32)
#define MPI_UINT64_T              (&minimpi_uint64)
#define MPI_AINT                  (&minimpi_aint)
#define MPI_OFFSET                (&minimpi_offset)
#define MPI_COUNT                 (&minimpi_count)
#define MPI_C_COMPLEX             (&minimpi_cfloat)
#define MPI_C_FLOAT_COMPLEX       MPI_C_COMPLEX
#define MPI_C_DOUBLE_COMPLEX      (&minimpi_cdouble)
#define MPI_C_LONG_DOUBLE_COMPLEX (&minimpi_cldouble)
#define MPI_FLOAT_INT             (&minimpi_float_int)
#define MPI_DOUBLE_INT            (&minimpi_double_int)
#define MPI_LONG_INT              (&minimpi_long_int)
#define MPI_2INT                  (&minimpi_2int)
#define MPI_SHORT_INT             (&minimpi_short_int)
#define MPI_LONG_DOUBLE_INT       (&minimpi_ldouble_int)

int MPI_Type_size(MPI_Datatype type, int *size);
int MPI_Type_get_extent(MPI_Datatype type, MPI_Aint *lower, MPI_Aint *extent);
int MPI_Type_get_true_extent(MPI_Datatype type, MPI_Aint *lower, MPI_Aint *extent);
int MPI_Type_contiguous(int count, MPI_Datatype old, MPI_Datatype *type);
int MPI_Type_vector(int count, int block, int stride, MPI_Datatype old, MPI_Datatype *type);
int MPI_Type_create_hvector(int count, int block, MPI_Aint stride, MPI_Datatype old, MPI_Datatype *type);
int MPI_Type_indexed(int count, const int *blocks, const int *places, MPI_Datatype old, MPI_Datatype *type);
int MPI_Type_create_hindexed(int count, const int *blocks, const MPI_Aint *places, MPI_Datatype old,
			     MPI_Datatype *type);
int MPI_Type_create_indexed_block(int count, int block, const int *places, MPI_Datatype old, MPI_Datatype *type);
int MPI_Type_create_hindexed_block(int count, int block, const MPI_Aint *places, MPI_Datatype old, MPI_Datatype *type);
int MPI_Type_create_struct(int count, const int *blocks, const MPI_Aint *places, const MPI_Datatype *olds,
			   MPI_Datatype *type);
int MPI_Type_create_resized(MPI_Datatype old, MPI_Aint lower, MPI_Aint extent, MPI_Datatype *type);
enum { MPI_ORDER_C = 1, MPI_ORDER_FORTRAN };
int MPI_Type_create_subarray(int count, const int *sizes, const int *parts, const int *starts, int order,
			     MPI_Datatype old, MPI_Datatype *type);
int MPI_Type_dup(MPI_Datatype old, MPI_Datatype *type);
int MPI_Type_commit(MPI_Datatype *type);
int MPI_Type_free(MPI_Datatype *type);
int MPI_Type_set_name(MPI_Datatype type, const char *name);
int MPI_Type_get_name(MPI_Datatype type, char *name, int *length);
int MPI_Type_size_x(MPI_Datatype type, MPI_Count *size);
int MPI_Type_get_extent_x(MPI_Datatype type, MPI_Count *lower, MPI_Count *extent);
int MPI_Type_get_true_extent_x(MPI_Datatype type, MPI_Count *lower, MPI_Count *extent);
int MPI_Get_address(const void *place, MPI_Aint *address);
MPI_Aint MPI_Aint_add(MPI_Aint base, MPI_Aint displacement);
MPI_Aint MPI_Aint_diff(MPI_Aint address, MPI_Aint base);
int MPI_Pack(const void *in, int count, MPI_Datatype type, void *out, int size, int *position, MPI_Comm comm);
int MPI_Unpack(const void *in, int size, int *position, void *out, int count, MPI_Datatype type, MPI_Comm comm);
int MPI_Pack_size(int count, MPI_Datatype type, MPI_Comm comm, int *size);
/* Attributes */
typedef int MPI_Type_copy_attr_function(MPI_Datatype type, int key, void *state, void *value, void *copy, int *flag);
typedef int MPI_Type_delete_attr_function(MPI_Datatype type, int key, void *value, void *state);
MPI_Type_copy_attr_function MPI_TYPE_NULL_COPY_FN, MPI_TYPE_DUP_FN;
MPI_Type_delete_attr_function MPI_TYPE_NULL_DELETE_FN;
int MPI_Type_create_keyval(MPI_Type_copy_attr_function *copy, MPI_Type_delete_attr_function *remove, int *key,
			   void *state);
int MPI_Type_free_keyval(int *key);
int MPI_Type_set_attr(MPI_Datatype type, int key, void *value);
int MPI_Type_get_attr(MPI_Datatype type, int key, void *value, int *flag);
int MPI_Type_delete_attr(MPI_Datatype type, int key);
/* By their names in MPI-1 */
int MPI_Address(void *place, MPI_Aint *address);
int MPI_Type_extent(MPI_Datatype type, MPI_Aint *extent);
int MPI_Type_lb(MPI_Datatype type, MPI_Aint *lower);
int MPI_Type_ub(MPI_Datatype type, MPI_Aint *upper);
int MPI_Type_hvector(int count, int block, MPI_Aint stride, MPI_Datatype old, MPI_Datatype *type);
int MPI_Type_hindexed(int count, int *blocks, MPI_Aint *places, MPI_Datatype old, MPI_Datatype *type);
int MPI_Type_struct(int count, int *blocks, MPI_Aint *places, MPI_Datatype *olds, MPI_Datatype *type);

#endif
