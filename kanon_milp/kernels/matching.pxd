cimport cython
from kanon_milp.kernels.sorting cimport sort_stably

cdef long long STEPS

cdef class _Found:
    cdef long long[:, ::1] rows
    cdef long long[::1] candidate
    cdef Py_ssize_t end

@cython.locals(order="long long[::1]", other="long long[::1]", keys="long long[::1]", reduced="long long[::1]",
               cover="long long[::1]", differ=bint, steps="long long", complete=bint, found=_Found, first="Py_ssize_t",
               length="Py_ssize_t", i="Py_ssize_t", j="Py_ssize_t", r="Py_ssize_t", begin="Py_ssize_t", pair="long long",
               twice="long long", end="Py_ssize_t")
cpdef object groups_within(
    const long long[::1] indptr, const int[::1] members, const long long[::1] cost, const unsigned char[::1] alone,
    const long long[::1] counts, const long long[::1] multipliers, const long long[::1] value, long long limit,
    long long most, long long each)
cdef void _append(_Found s, Py_ssize_t i, Py_ssize_t j, Py_ssize_t r, Py_ssize_t g) noexcept nogil
@cython.locals(parent="long long[::1]", tail="long long[::1]", following="long long[::1]", size="long long[::1]",
               odd="long long[::1]", inside="unsigned char[::1]", seen="long long[::1]", begins="long long[::1]",
               violations="double[::1]", values="long long[::1]", sets="Py_ssize_t", c="Py_ssize_t", root="Py_ssize_t",
               other="Py_ssize_t", joins=bint, x="Py_ssize_t", e="Py_ssize_t", number="Py_ssize_t", leaving=double,
               begin="Py_ssize_t", end="Py_ssize_t")
cpdef object growing_sets(
    const long long[:, ::1] rows, const double[::1] theta, const long long[::1] order, const long long[::1] counts,
    const long long[::1] indptr, const long long[::1] of, double least, Py_ssize_t widest)
cdef Py_ssize_t _root(long long[::1] parent, Py_ssize_t x) noexcept nogil
