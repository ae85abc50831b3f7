cimport cython

cdef Py_ssize_t SWEEPS, ALL
cdef double ENOUGH

cdef class Program:
    cdef readonly const long long[::1] begins, types, starts, bounds
    cdef readonly const double[::1] copies, times, cost, steps
    cdef readonly double[::1] share, free, bounded
    cdef readonly double step

@cython.locals(near="Py_ssize_t", sweeps="Py_ssize_t", kept="Py_ssize_t", c="Py_ssize_t", some="long long[::1]",
               everything=bint, gain=double, change=double)
cpdef Py_ssize_t minimize(Program p, double low)
@cython.locals(found=double)
cdef double _reduced_cost(Program p, Py_ssize_t c) noexcept nogil
@cython.locals(curvature=double, bend=double, change=double, slope=double, before=double, after=double, q=double)
cdef double _best_change(Program p, Py_ssize_t c, double reduced) noexcept nogil
@cython.locals(i="Py_ssize_t")
cdef void _follow(Program p, Py_ssize_t c, double change) noexcept nogil
