cimport cython
from libc.math cimport ldexp

cdef double LN2, HALF, TWICE, LOWEST, INFINITE

@cython.locals(exponent="Py_ssize_t", s=double, z=double, series=double)
cpdef double log(double x) noexcept nogil
@cython.locals(exponent="int", r=double, series=double)
cpdef double exp(double x) noexcept nogil
cpdef double power(double base, double exponent) noexcept nogil
@cython.locals(found="double[::1]", i="Py_ssize_t")
cpdef object exponentials(const double[::1] x)
