cimport cython

from kanon_milp.kernels.sorting cimport sort_stably
from kanon_milp.kernels.tree_subproblem cimport FloatSubproblems, IntSubproblems, fewest_rows, most_rows

cdef Py_ssize_t PASSES

cdef class SizeSearch:
    cdef readonly const long long[::1] begins, cut_of, weight_of, denominators, parts, weights
    cdef readonly bint line, charged
    cdef readonly long long scale, limit, whole
    cdef readonly Py_ssize_t value_capacity, row_capacity, width, size
    cdef readonly long long[::1] starts, in_order, items, numbers, chosen, filled, best, order, other, left, gone
    cdef readonly long long[:, ::1] limits, asked, far
    cdef readonly long long before
    cdef public long long nodes

cdef class FloatSizeSearch(SizeSearch):
    cdef readonly FloatSubproblems problems
    cdef readonly const double[::1] prices
    cdef readonly double[::1] prefix, values, keys, spent
    cdef readonly double[:, ::1] bests, charges
    cdef readonly double charge, never
    cdef public double below, theta, start, above
    cdef double paid

cdef class IntSizeSearch(SizeSearch):
    cdef readonly IntSubproblems problems
    cdef readonly const long long[::1] prices
    cdef readonly long long[::1] prefix, values, keys, spent
    cdef readonly long long[:, ::1] bests, charges
    cdef readonly long long charge, never
    cdef public long long below, theta, start, above
    cdef long long paid

ctypedef fused AnySizeSearch:
    FloatSizeSearch
    IntSizeSearch

cdef _reserve(AnySizeSearch s, width, rows, kind)
cdef Py_ssize_t rows_of(AnySizeSearch s) noexcept nogil
cdef void sort_rows(AnySizeSearch s) noexcept nogil
cdef bint limit_numbers(AnySizeSearch s, Py_ssize_t size) noexcept nogil
@cython.locals(total="long long", held="long long", end="Py_ssize_t")
cdef void far_by_number(AnySizeSearch s) noexcept nogil
cdef void charge_numbers(AnySizeSearch s) noexcept nogil
@cython.locals(v="Py_ssize_t", r="Py_ssize_t", x="Py_ssize_t", first="Py_ssize_t", number="Py_ssize_t")
cdef void cheapest_rests(AnySizeSearch s) noexcept nogil
cdef void _take(AnySizeSearch s, Py_ssize_t i) noexcept nogil
cdef void _give_back(AnySizeSearch s, Py_ssize_t i) noexcept nogil
@cython.locals(depth="Py_ssize_t", at="Py_ssize_t", v="Py_ssize_t", fence="Py_ssize_t", need="Py_ssize_t", deeper=bint)
cdef void _grow(AnySizeSearch s) noexcept nogil
cdef void _search_size(AnySizeSearch s) noexcept nogil
@cython.locals(last=bint)
cdef void search_passes(AnySizeSearch s) noexcept nogil
