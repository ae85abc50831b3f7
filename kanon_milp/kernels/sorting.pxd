cimport cython

ctypedef fused Sortable:
    double
    long long
    int

cdef Py_ssize_t RUN

@cython.locals(e="Py_ssize_t", begin="Py_ssize_t", width="Py_ssize_t")
cpdef void sort_stably(const Sortable[::1] keys, Py_ssize_t count, long long[::1] order, long long[::1] other) noexcept nogil
@cython.locals(begin="Py_ssize_t", middle="Py_ssize_t", end="Py_ssize_t", left="Py_ssize_t", right="Py_ssize_t")
cdef void _merge_runs(
    const Sortable[::1] keys, Py_ssize_t count, Py_ssize_t width, long long[::1] order, long long[::1] other) noexcept nogil
