cimport cython

from kanon_milp.kernels.sorting cimport sort_stably
from kanon_milp.kernels.tree_subproblem cimport FloatSubproblems, cheapest_of_size, select
from kanon_milp.kernels.valued_groups cimport cheapest_negative, cheapest_of_candidate

cdef long long HALVINGS, MOVES
cdef double NEAR, NEVER, WIDEST

cdef class Prices:
    cdef readonly float[:, ::1] of_limits, of_shares
    cdef double[::1] shift, low, high, held, lows, highs, sums, above
    cdef long long[::1] children

@cython.locals(v="Py_ssize_t", top="Py_ssize_t", total="double", price="double", q="double", shift="double", limit="double")
cdef double _shifts(FloatSubproblems s, Prices p, Py_ssize_t g, double theta) noexcept nogil
@cython.locals(g="Py_ssize_t", at="Py_ssize_t", cell="Py_ssize_t", begin="Py_ssize_t", different="long long", missing="double")
cpdef object screen(FloatSubproblems s, Prices p, unsigned char[::1] left)
@cython.locals(moves="long long", at="Py_ssize_t", e="Py_ssize_t", i="int", a="Py_ssize_t")
cdef void _sort(FloatSubproblems s, Py_ssize_t begin, Py_ssize_t end) noexcept nogil
@cython.locals(least="double", most="double", charge="double", apart="double", q="double")
cdef (double, double) _interval(
    FloatSubproblems s, Prices p, Py_ssize_t v, long long size, double low, double high) noexcept nogil
@cython.locals(v="Py_ssize_t", top="Py_ssize_t", q="double", apart="double", charge="double", inside="double", rest="double")
cdef void _descend(FloatSubproblems s, Prices p, Py_ssize_t g, double marginal, long long size) noexcept nogil
@cython.locals(v="Py_ssize_t", at="Py_ssize_t", top="Py_ssize_t", cell="Py_ssize_t", i="Py_ssize_t",
               low="double", high="double", held="double", before="double")
cdef (double, double) _ascend(FloatSubproblems s, Prices p, long long size) noexcept nogil
@cython.locals(low="double", high="double", marginal="double")
cdef void _remember(FloatSubproblems s, Prices p, long long size) noexcept nogil
@cython.locals(g="Py_ssize_t", cell="Py_ssize_t")
cpdef object solve_left(
    FloatSubproblems s, Prices p, long long tries, bint everything, const unsigned char[::1] left,
    double[::1] phi, long long[::1] sizes, long long[::1] groups)
