cimport cython

cdef double FRACTION

cdef class Rules:
    cdef readonly const int[:, ::1] columns
    cdef readonly const long long[:, ::1] limited, presence, roots
    cdef readonly const long long[::1] column, children, share, weight
    cdef readonly int[:, ::1] counts
    cdef readonly long long[::1] below

cpdef void count_in(Rules rules, Py_ssize_t g, Py_ssize_t u, Py_ssize_t rows) noexcept nogil
@cython.locals(
    found=double, held="long long", over="long long", under="long long", lacking="long long", v="Py_ssize_t",
    node="Py_ssize_t", scale="long long", most="long long", work="long long", inside="long long", first="Py_ssize_t",
    top="Py_ssize_t")
cpdef double violation_of(Rules rules, Py_ssize_t g, Py_ssize_t size, Py_ssize_t least) noexcept nogil
