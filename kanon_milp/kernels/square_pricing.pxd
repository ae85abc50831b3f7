cimport cython

from kanon_milp.kernels.sorting cimport sort_stably

cdef Py_ssize_t PASSES

cdef class SquareSearch:
    cdef readonly const int[:, ::1] near
    cdef readonly const long long[::1] begins, cut_of, weight_of, denominators, rank, twice, value_of
    cdef readonly long long smallest, largest, columns
    cdef public long long nodes, stamp, count, few
    cdef long long[::1] held, mark, length, at, chosen, order, other
    cdef long long[:, ::1] items
    cdef readonly int[:, ::1] rows

@cython.final
cdef class FloatSquareSearch(SquareSearch):
    cdef readonly const double[:, ::1] distances, sums
    cdef readonly const double[::1] multipliers, prices
    cdef double[:, ::1] values, crossed, inner
    cdef double[::1] base, least, keys
    cdef readonly double[::1] reduced
    cdef public double below, best, lowest, share
    cdef double paid, value, fence
    @cython.locals(found=double)
    cpdef double of_size(self, double value, long long size) noexcept nogil

@cython.final
cdef class IntSquareSearch(SquareSearch):
    cdef readonly const long long[:, ::1] distances, sums
    cdef readonly const long long[::1] multipliers, prices
    cdef long long[:, ::1] values, crossed, inner
    cdef long long[::1] base, least, keys
    cdef readonly long long[::1] reduced
    cdef public long long below, best, lowest, share
    cdef long long paid, value, fence
    @cython.locals(whole="long long")
    cpdef long long of_size(self, long long value, long long size) noexcept nogil

ctypedef fused AnySquareSearch:
    FloatSquareSearch
    IntSquareSearch

@cython.locals(size="long long", complete=bint)
cpdef bint cheapest_of_seed(AnySquareSearch s, Py_ssize_t seed, long long nodes)
@cython.locals(a="Py_ssize_t")
cdef void _insert(AnySquareSearch s, Py_ssize_t most) noexcept nogil
@cython.locals(a="Py_ssize_t")
cdef void _set_lowest(AnySquareSearch s, Py_ssize_t seed, long long size) noexcept nogil
@cython.locals(q="Py_ssize_t", m="Py_ssize_t", x="Py_ssize_t", twice="long long")
cdef void _root(AnySquareSearch s, Py_ssize_t seed, long long size, bint listed) noexcept nogil
@cython.locals(q="Py_ssize_t", m="Py_ssize_t", reach="Py_ssize_t", a="Py_ssize_t", e="Py_ssize_t", x="Py_ssize_t",
               count="Py_ssize_t", twice="long long")
cdef void _restrict(AnySquareSearch s, Py_ssize_t seed, long long size) noexcept nogil
@cython.locals(m="Py_ssize_t", left="Py_ssize_t", a="Py_ssize_t")
cdef bint _leave_out(AnySquareSearch s, Py_ssize_t depth, Py_ssize_t q) noexcept nogil
@cython.locals(m="Py_ssize_t", a="Py_ssize_t")
cdef void _line_up(AnySquareSearch s, Py_ssize_t depth) noexcept nogil
@cython.locals(e="Py_ssize_t", r="Py_ssize_t", before="long long")
cdef void _put(AnySquareSearch s, Py_ssize_t x) noexcept nogil
@cython.locals(e="Py_ssize_t")
cdef void _take(AnySquareSearch s, Py_ssize_t x) noexcept nogil
@cython.locals(q="Py_ssize_t", j="Py_ssize_t", depth="Py_ssize_t", a="Py_ssize_t", x="Py_ssize_t", done=bint, twice="long long")
cdef void _search_size(AnySquareSearch s, Py_ssize_t seed, long long size) noexcept nogil
@cython.locals(q="Py_ssize_t", j="Py_ssize_t", m="Py_ssize_t", a="Py_ssize_t", e="Py_ssize_t", x="Py_ssize_t", y="Py_ssize_t",
               t="Py_ssize_t", twice="long long")
cdef bint _descend(AnySquareSearch s, Py_ssize_t depth, long long size) noexcept nogil
@cython.locals(c="Py_ssize_t", e="Py_ssize_t")
cdef void _keep(AnySquareSearch s, long long size) noexcept nogil
