cimport cython

from kanon_milp.kernels.rules cimport Rules, count_in, violation_of
from kanon_milp.kernels.tree_subproblem cimport FloatSubproblems, select
from kanon_milp.kernels.valued_groups cimport add_negative_rows, cheapest_of_candidate, choose_rows

cdef double ROUNDING, GAIN

cdef class Rest:
    cdef readonly double[::1] left, taken
    cdef readonly long long[::1] rows, amount
    cdef readonly const long long[::1] value
    cdef readonly const int[::1] members, covers
    cdef readonly Rules rules
    cdef readonly long long[:, ::1] cells
    cdef readonly double price
    cdef readonly Py_ssize_t exchanges, paired

@cython.locals(at="Py_ssize_t")
cpdef void place_groups(const long long[::1] order, double slack, Py_ssize_t tries, FloatSubproblems s, Rest rest)
@cython.locals(left=double, at="Py_ssize_t", i="Py_ssize_t", entry="Py_ssize_t", value=double, good=bint)
cdef void _place_group(Py_ssize_t g, double slack, Py_ssize_t tries, FloatSubproblems s, Rest rest) noexcept nogil
@cython.locals(
    u="Py_ssize_t", size="Py_ssize_t", value=double, at="Py_ssize_t", i="Py_ssize_t", rows="long long",
    violation=double, enters="Py_ssize_t", leaves="Py_ssize_t", entering="Py_ssize_t", leaving="Py_ssize_t")
cdef (double, bint) _integral(FloatSubproblems s, Rest rest) noexcept nogil
@cython.locals(
    values="Py_ssize_t", best=double, enters="Py_ssize_t", leaves="Py_ssize_t", a="Py_ssize_t", b="Py_ssize_t",
    entering="Py_ssize_t", leaving="Py_ssize_t", change=double, rows="Py_ssize_t", now=double)
cdef (Py_ssize_t, Py_ssize_t) _best_exchange(FloatSubproblems s, Rest rest, Py_ssize_t size, double violation) noexcept nogil
@cython.locals(at="Py_ssize_t", i="Py_ssize_t")
cdef Py_ssize_t _next(Rest rest, Py_ssize_t u) noexcept nogil
@cython.locals(at="Py_ssize_t")
cdef Py_ssize_t _last(Rest rest, Py_ssize_t u) noexcept nogil
