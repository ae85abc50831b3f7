cimport cython

cdef long long FAILED
cdef unsigned long long MASK, MULTIPLIER

cdef class Lists:
    cdef readonly const long long[::1] cost, least, parked
    cdef readonly int[::1] group, first, after, before, log_row, log_group
    cdef readonly long long[::1] size
    cdef public Py_ssize_t logged
    cdef public unsigned long long random

cdef class Rows(Lists):
    cdef readonly const int[::1] type_of, options, covers
    cdef readonly const long long[::1] options_at, covers_at

cpdef void relink(Lists s) noexcept nogil
cdef void _enter(Lists s, Py_ssize_t r, Py_ssize_t g) noexcept nogil
@cython.locals(g="Py_ssize_t")
cdef void _leave(Lists s, Py_ssize_t r) noexcept nogil
@cython.locals(h="Py_ssize_t", change="long long")
cpdef long long place(Lists s, Py_ssize_t r, Py_ssize_t g) noexcept nogil
@cython.locals(r="Py_ssize_t")
cpdef void undo(Lists s) noexcept nogil
cpdef void commit(Lists s) noexcept nogil
@cython.locals(loss="long long")
cpdef long long total(Lists s) noexcept nogil
@cython.locals(x="unsigned long long")
cpdef long long draw(Lists s) noexcept nogil
cpdef double uniform(Lists s) noexcept nogil
@cython.locals(g="Py_ssize_t")
cpdef Py_ssize_t best_option(Rows s, Py_ssize_t r, Py_ssize_t closing, Py_ssize_t opening) noexcept nogil
@cython.locals(r="Py_ssize_t", following="Py_ssize_t", delta="long long")
cpdef long long close(Rows s, Py_ssize_t h, Py_ssize_t opening, double limit) noexcept nogil
