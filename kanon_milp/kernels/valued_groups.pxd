cimport cython

from kanon_milp.kernels.tree_subproblem cimport (
    AnySubproblems, FloatSubproblems, IntSubproblems, cheapest_of_size, select)

cdef long long STRIDE

@cython.locals(low="long long", high="long long", at="long long", step="long long", size="long long",
               slot="Py_ssize_t", here="Py_ssize_t", ahead="Py_ssize_t", last="bint")
cpdef bint lowest_size(AnySubproblems s, long long near) noexcept nogil
@cython.locals(below="long long", different="long long", at="Py_ssize_t")
cdef long long _lowest_plain(AnySubproblems s) noexcept nogil
@cython.locals(size="long long", best_size="long long", tried="long long", side="Py_ssize_t")
cdef bint _walk(AnySubproblems s, long long middle, long long tries) noexcept nogil
@cython.locals(at="Py_ssize_t")
cpdef void add_negative_rows(AnySubproblems s) noexcept nogil
cpdef bint cheapest_of_candidate(AnySubproblems s, long long near, long long tries, bint everything) noexcept nogil
@cython.locals(size="long long", best_size="long long", tried="long long", step="long long", fence="long long")
cpdef bint cheapest_negative(FloatSubproblems s, long long near, long long tries) noexcept nogil
@cython.locals(g="Py_ssize_t")
cpdef object cheapest_by_size(
    IntSubproblems s, long long tries, long long never, bint everything,
    long long[::1] phi, long long[::1] sizes, long long[::1] groups)
cpdef void choose_rows(FloatSubproblems s, long long size) noexcept nogil
@cython.locals(at="Py_ssize_t", v="Py_ssize_t", top="Py_ssize_t", far="double")
cdef double _excess(FloatSubproblems s, long long size, double[::1] held, double[::1] below) noexcept nogil
@cython.locals(middle="Py_ssize_t")
cpdef Py_ssize_t place_in(const int[::1] members, Py_ssize_t low, Py_ssize_t high, Py_ssize_t i) noexcept nogil
@cython.locals(held="double[::1]", below="double[::1]", g="Py_ssize_t", at="Py_ssize_t", asked="bint", charged="bint")
cpdef object take_groups(
    FloatSubproblems s, const unsigned char[::1] wanted, const long long[::1] sizes,
    double[::1] rows, double[::1] excess, const int[::1] members, double[::1] average)
