cimport cython

@cython.locals(groups="Py_ssize_t", i="Py_ssize_t", other="Py_ssize_t", key="long long", slot="long long", alike=bint,
               large=bint, length="Py_ssize_t", entries="Py_ssize_t", kept="Py_ssize_t", at="Py_ssize_t")
cpdef (Py_ssize_t, Py_ssize_t) group_alike(
    const long long[:, ::1] codes, const long long[::1] used, const long long[::1] place, const long long[::1] label,
    const long long[::1] mixed, const long long[::1] active, const long long[::1] rows, long long least, long long number,
    long long[::1] stamp, long long[::1] first, long long[::1] group, long long[::1] size, long long[::1] begin,
    long long[::1] members)
