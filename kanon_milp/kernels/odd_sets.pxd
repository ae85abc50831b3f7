cimport cython

@cython.locals(parent="long long[::1]", tail="long long[::1]", following="long long[::1]", size="long long[::1]",
               odd="long long[::1]", inside="unsigned char[::1]", seen="long long[::1]", begins="long long[::1]",
               violations="double[::1]", values="long long[::1]", sets="Py_ssize_t", c="Py_ssize_t", root="Py_ssize_t",
               other="Py_ssize_t", joins=bint, x="Py_ssize_t", e="Py_ssize_t", number="Py_ssize_t", leaving=double,
               begin="Py_ssize_t", end="Py_ssize_t")
cpdef object growing_sets(
    const long long[:, ::1] rows, const double[::1] theta, const long long[::1] order, const long long[::1] counts,
    const long long[::1] indptr, const long long[::1] of, double least, Py_ssize_t widest)
cdef Py_ssize_t _root(long long[::1] parent, Py_ssize_t x) noexcept nogil
