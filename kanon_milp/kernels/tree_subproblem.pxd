cimport cython
from libc.math cimport floor, fmod

cdef class Subproblems:
    # the relaxation
    cdef readonly const long long[::1] own, children
    cdef readonly const long long[:, ::1] of_value, of_node
    cdef readonly long long presence
    cdef readonly bint convex, star
    # the candidates, and the values of the rows
    cdef readonly const long long[::1] indptr, cell_indptr, cell_value, cell_begin, least, support, rank
    cdef readonly int[::1] members
    # the candidate that is looked at
    cdef readonly Py_ssize_t g, begin, end, first_cell, last_cell
    cdef public long long fewest, most
    # what is found of it
    cdef public long long size, lowest
    cdef readonly Py_ssize_t entries
    cdef readonly long long[::1] chosen
    # scratch space
    cdef Py_ssize_t head, tail
    cdef long long[::1] items, other_items, begins, ends, heap, next_at, sides
    cdef unsigned char[::1] seen, side_known, side_over

@cython.final
cdef class FloatSubproblems(Subproblems):
    cdef readonly const double[:, ::1] value_grid, node_grid
    cdef readonly const double[::1] share, weight, cost, counts, multipliers
    cdef readonly double[::1] thetas, chosen_amounts
    cdef readonly double closeness, grain, tick, slack, tolerance
    cdef public double w, theta, value, below
    cdef double held, slope, until
    cdef double[::1] keys, amounts, other_keys, other_amounts, fixed, side_values
    cdef double[::1] next_key, next_left, next_until, next_held, next_most
    cpdef double rounded(self, double slope, double grain) noexcept nogil
    cdef long long rows_of(self, Py_ssize_t i) noexcept nogil
    cdef double whole(self, double x) noexcept nogil

@cython.final
cdef class IntSubproblems(Subproblems):
    cdef readonly const long long[:, ::1] value_grid, node_grid
    cdef readonly const long long[::1] share, weight, cost, counts, multipliers
    cdef readonly long long[::1] thetas, chosen_amounts
    cdef readonly long long closeness, grain, tick, slack, tolerance
    cdef public long long w, theta, value, below
    cdef long long held, slope, until
    cdef long long[::1] keys, amounts, other_keys, other_amounts, fixed, side_values
    cdef long long[::1] next_key, next_left, next_until, next_held, next_most
    cpdef long long rounded(self, long long slope, long long grain) noexcept nogil
    cdef long long rows_of(self, Py_ssize_t i) noexcept nogil
    cdef long long whole(self, long long x) noexcept nogil

ctypedef fused AnySubproblems:
    FloatSubproblems
    IntSubproblems

cdef _set_numbers(AnySubproblems s, tree, candidates, rows, kind)
cpdef long long floored(long long a, long long b) noexcept nogil
cpdef double floored_float(double a, double b) noexcept nogil
cpdef long long fewest_rows(long long numerator, long long denominator, long long size) noexcept nogil
cpdef long long most_rows(long long numerator, long long denominator, long long size) noexcept nogil
cpdef void select(AnySubproblems s, Py_ssize_t g) noexcept nogil
cdef bint _limit(AnySubproblems s, Py_ssize_t v, long long size, bint integral, bint below) noexcept nogil
cdef Py_ssize_t _merge(AnySubproblems s, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t second, Py_ssize_t last) noexcept nogil
cdef void _charge(AnySubproblems s, Py_ssize_t v, long long size, bint integral) noexcept nogil
cdef bint _finish(AnySubproblems s, long long size, long long presence) noexcept nogil
cpdef bint compose(AnySubproblems s, long long size, bint integral) noexcept nogil
cdef Py_ssize_t _place(Subproblems s, Py_ssize_t cell) noexcept nogil
cdef void _sink(AnySubproblems s, Py_ssize_t at, Py_ssize_t length) noexcept nogil
cdef void _segment(AnySubproblems s, Py_ssize_t v, long long size, bint integral) noexcept nogil
@cython.locals(cell="Py_ssize_t", length="Py_ssize_t", v="Py_ssize_t", place="Py_ssize_t", last="Py_ssize_t")
cpdef bint compose_star(AnySubproblems s, long long size, bint integral) noexcept nogil
cpdef bint cheapest_of_size(AnySubproblems s, long long size, bint integral) noexcept nogil
