cimport cython

@cython.locals(i="Py_ssize_t", j="Py_ssize_t", at="Py_ssize_t", other="Py_ssize_t", first="Py_ssize_t", last="Py_ssize_t",
               below="long long", own="long long", before="long long", others="long long", reduced="long long", here="long long")
cpdef void pairs_within(
    const long long[::1] indptr, const int[::1] members, const long long[::1] cost, const unsigned char[::1] opened,
    const long long[::1] phi, const long long[::1] most, const long long[::1] counts, const long long[::1] multipliers,
    const long long[::1] value, unsigned char[::1] found) except *
