cimport cython
from kanon_milp.kernels.moves cimport mend
from kanon_milp.kernels.rows cimport Lists, Rows, draw, place, uniform

cdef long long FAILED

@cython.locals(
    r="Py_ssize_t", i="Py_ssize_t", f="Py_ssize_t", g="Py_ssize_t", q="Py_ssize_t", member="Py_ssize_t",
    held="Py_ssize_t", grown="Py_ssize_t", covered="long long", loss="long long", chosen="unsigned char[::1]",
    rows="int[::1]", groups="long long[::1]")
cpdef object grow(Rows s, const unsigned char[::1] busy, long long size)
@cython.locals(
    nowhere="Py_ssize_t", q="Py_ssize_t", r="Py_ssize_t", g="Py_ssize_t", delta="long long", change="long long")
cpdef long long exchange(
    Rows s, const long long[::1] row_type, const long long[::1] candidate, const long long[::1] before,
    const long long[::1] after) noexcept nogil
@cython.locals(r="Py_ssize_t")
cdef Py_ssize_t _row_of(Rows s, Py_ssize_t g, Py_ssize_t i) noexcept nogil
