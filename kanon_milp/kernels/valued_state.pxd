cimport cython

from kanon_milp.kernels.rows cimport Rows, draw, place, relink
from kanon_milp.kernels.rules cimport Rules, count_in, violation_of

cdef double INFINITE
cdef Py_ssize_t SAMPLE, DRAWS

cdef class ValuedState(Rows):
    cdef readonly Rules rules
    cdef readonly const long long[::1] value
    cdef readonly const int[:, ::1] parked_counts
    cdef readonly double[::1] violation, sample_price, change
    cdef readonly long long[::1] sample_row, sample_value, known
    cdef readonly unsigned char[::1] sample_checked
    cdef readonly Py_ssize_t failing
    cdef readonly double violated, cell
    cdef public double price
    cdef long long stamp

cpdef void recount(ValuedState c) noexcept nogil
@cython.locals(h="Py_ssize_t")
cpdef long long put(ValuedState c, Py_ssize_t r, Py_ssize_t g) noexcept nogil
@cython.locals(before=double, now=double)
cdef void _judge(ValuedState c, Py_ssize_t g) noexcept nogil
cpdef void take_back(ValuedState c) noexcept nogil
@cython.locals(change=double)
cpdef double with_one(ValuedState c, Py_ssize_t g, Py_ssize_t u, Py_ssize_t by) noexcept nogil
@cython.locals(change=double)
cpdef double exchanged(ValuedState c, Py_ssize_t g, Py_ssize_t u, Py_ssize_t v) noexcept nogil
@cython.locals(i="Py_ssize_t", low="Py_ssize_t", high="Py_ssize_t", middle="Py_ssize_t", other="Py_ssize_t",
    found=bint)
cpdef bint may_have(ValuedState c, Py_ssize_t r, Py_ssize_t g) noexcept nogil
@cython.locals(
    low="Py_ssize_t", high="Py_ssize_t", middle="Py_ssize_t", first="Py_ssize_t", end="Py_ssize_t")
cpdef (Py_ssize_t, Py_ssize_t) of_value(ValuedState c, Py_ssize_t g, Py_ssize_t u) noexcept nogil
@cython.locals(
    i="Py_ssize_t", h="Py_ssize_t", u="Py_ssize_t", g="Py_ssize_t", q="Py_ssize_t", chosen="Py_ssize_t", best=double,
    loss=double, change=double)
cpdef (Py_ssize_t, double) best_target(ValuedState c, Py_ssize_t r, Py_ssize_t closing) noexcept nogil
@cython.locals(r="Py_ssize_t", begin="Py_ssize_t", covered="Py_ssize_t", first="Py_ssize_t")
cpdef Py_ssize_t of_group(ValuedState c, Py_ssize_t h) noexcept nogil
