cimport cython

from kanon_milp.kernels.sorting cimport sort_stably
from kanon_milp.kernels.tree_subproblem cimport (
    FloatSubproblems, IntSubproblems, Subproblems, fewest_rows, most_rows, select)
from kanon_milp.kernels.valued_groups cimport place_in

@cython.locals(held="long long[::1]", below="long long[::1]", ranks="long long[::1]", number="Py_ssize_t",
               v="Py_ssize_t", j="Py_ssize_t", i="Py_ssize_t", top="Py_ssize_t", far="long long", inside="long long", good="bint")
cpdef object allow(
    long long size, const long long[::1] own, const long long[::1] children, const long long[:, ::1] of_value,
    const long long[::1] share, const long long[::1] weight, long long scale, long long limit, unsigned char[::1] into)

cdef class SmallSizes:
    cdef readonly long long most
    cdef readonly const unsigned char[::1] allowed
    cdef readonly const long long[::1] begins
    cdef readonly const long long[:, ::1] ways

cdef class SmallGroups:
    cdef readonly SmallSizes small
    cdef readonly long long[::1] chosen, best
    cdef Py_ssize_t length
    cdef long long[::1] items, values, before, own_items, order, other
    cdef long long[::1] unsorted_items, unsorted_values
    cdef unsigned char[::1] used

@cython.final
cdef class FloatSmallGroups(SmallGroups):
    cdef readonly FloatSubproblems problem
    cdef public double value
    cdef double[::1] phi, keys, prefix, spent, lows, own_keys, unsorted_keys

@cython.final
cdef class IntSmallGroups(SmallGroups):
    cdef readonly IntSubproblems problem
    cdef public long long value
    cdef long long[::1] phi, keys, prefix, spent, lows, own_keys, unsorted_keys

ctypedef fused AnySmallGroups:
    FloatSmallGroups
    IntSmallGroups

cdef _set_numbers(AnySmallGroups t, kind)
@cython.locals(kept="Py_ssize_t", at="Py_ssize_t", i="Py_ssize_t", cell="Py_ssize_t", own="Py_ssize_t", place="Py_ssize_t",
               length="Py_ssize_t", most="long long")
cdef void _sort_rows(AnySmallGroups t) noexcept nogil
@cython.locals(number="long long", rows="long long", d="Py_ssize_t", other="Py_ssize_t", j="Py_ssize_t",
               value="long long", another="long long")
cpdef bint is_allowed(SmallGroups t, long long some, Py_ssize_t size) noexcept nogil
@cython.locals(d="Py_ssize_t", size="Py_ssize_t", depth="Py_ssize_t", at="Py_ssize_t", need="Py_ssize_t")
cpdef bint cheapest_small_group(AnySmallGroups t, long long tried) noexcept nogil
@cython.locals(g="Py_ssize_t", d="Py_ssize_t")
cpdef object cheapest_small_groups(AnySmallGroups t, long long tried, unsigned char[::1] left, int[:, ::1] chosen)
@cython.locals(g="Py_ssize_t", d="Py_ssize_t", at="Py_ssize_t", i="Py_ssize_t")
cpdef object take_small_groups(
    const long long[::1] indptr, const int[::1] members, const unsigned char[::1] wanted, const int[:, ::1] chosen,
    double[::1] taken, double[::1] average)
@cython.locals(length="Py_ssize_t", at="Py_ssize_t", i="Py_ssize_t", d="Py_ssize_t", kept="Py_ssize_t", highest="double")
cdef Py_ssize_t _list_rows(FloatSmallGroups t, double below) noexcept nogil
@cython.locals(found="long long[::1]", types="long long[:, ::1]", g="Py_ssize_t", groups="Py_ssize_t", steps="long long",
               at="Py_ssize_t", depth="Py_ssize_t", size="Py_ssize_t", need="Py_ssize_t", d="Py_ssize_t", complete="bint", one="bint")
cpdef object list_small_groups(FloatSmallGroups t, double below, Py_ssize_t limit)
@cython.locals(every="long long", some="long long", rows="long long", d="Py_ssize_t")
cdef bint _falls_apart(SmallGroups t, Py_ssize_t size, long long least) noexcept nogil
