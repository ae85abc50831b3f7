cimport cython

@cython.locals(has="long long[::1]", part="long long[::1]", i="Py_ssize_t", last="Py_ssize_t", left="long long",
               best="long long", chosen="long long", number="long long", loss="long long")
cpdef long long divide_some(
    const long long[::1] copies, const long long[::1] place, const long long[::1] cost, long long[::1] total,
    long long[::1] group, long long done, long long steps)
