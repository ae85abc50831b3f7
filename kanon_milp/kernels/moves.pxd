cimport cython
from kanon_milp.kernels.rows cimport Lists, Rows, best_option, close, commit, draw, place, undo

cdef long long FAILED
cdef double INFINITE
cdef Py_ssize_t SCANNED, CLOSED

@cython.locals(
    begin="Py_ssize_t", covered="Py_ssize_t", scanned="Py_ssize_t", offset="Py_ssize_t", closed="Py_ssize_t",
    r="Py_ssize_t", h="Py_ssize_t", delta="long long", change="long long")
cpdef long long pull(Rows s, Py_ssize_t g, double limit) noexcept nogil
@cython.locals(found="long long", h="Py_ssize_t", r="Py_ssize_t", other="Py_ssize_t")
cdef Py_ssize_t _blocked(
    Rows s, Py_ssize_t g, Py_ssize_t begin, Py_ssize_t covered, Py_ssize_t offset, Py_ssize_t scanned) noexcept nogil
@cython.locals(r="Py_ssize_t", h="Py_ssize_t", delta="long long", highest="long long")
cdef long long _fill(
    Rows s, Py_ssize_t g, Py_ssize_t begin, Py_ssize_t covered, Py_ssize_t offset, Py_ssize_t scanned) noexcept nogil
@cython.locals(covered="Py_ssize_t", delta="long long", change="long long")
cpdef long long mend(Rows s, Py_ssize_t g) noexcept nogil
@cython.locals(
    i="Py_ssize_t", h="Py_ssize_t", g="Py_ssize_t", count="Py_ssize_t", offset="Py_ssize_t", target="Py_ssize_t",
    begin="Py_ssize_t", covered="Py_ssize_t", delta="long long")
cpdef long long shift(Rows s, Py_ssize_t r) noexcept nogil
@cython.locals(h="Py_ssize_t", g="Py_ssize_t", delta="long long")
cpdef long long settle(Rows s) noexcept nogil
