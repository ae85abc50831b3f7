cimport cython
from libc.math cimport INFINITY

cdef class FractionalGroups:
    cdef readonly const long long[::1] indptr, types, copies, begins, of_type, copies_of_type, counts
    cdef readonly const double[::1] share

cdef class _Sets:
    cdef long long[:, ::1] rows
    cdef double[::1] violation
    cdef Py_ssize_t end

cdef class _Addition:
    cdef long long d
    cdef Py_ssize_t size
    cdef long long[::1] chosen, weight, sums, last, near
    cdef unsigned char[::1] inside
    cdef double[:, ::1] alone, gain

@cython.locals(counts="const long long[::1]", starts="const long long[::1]", others="const long long[::1]",
               strength="const double[::1]", found=_Sets, alone="double[::1]", first="double[::1]", second="double[::1]", every="double[::1]",
               j="Py_ssize_t", r="Py_ssize_t", pair=double, over=double)
cpdef object smallest_sets(FractionalGroups point, tuple linked, Py_ssize_t begin, Py_ssize_t end, double least)
@cython.locals(together="double[::1]", near="long long[::1]", starts="long long[::1]", others="long long[::1]",
               strength="double[::1]", close="Py_ssize_t", end="Py_ssize_t", c="Py_ssize_t", j="Py_ssize_t")
cpdef tuple links(FractionalGroups point)
cdef void _keep(_Sets s, Py_ssize_t i, Py_ssize_t j, Py_ssize_t r, double over) noexcept nogil
@cython.locals(c="Py_ssize_t", odd="Py_ssize_t")
cdef void _thirds(FractionalGroups point, Py_ssize_t i, Py_ssize_t j, double[::1] every, double factor) noexcept nogil

@cython.locals(found="long long[:, ::1]", weights="long long[:, ::1]", violation="double[::1]", cut=_Addition,
               end="Py_ssize_t", stamp="long long", i="Py_ssize_t", p="long long", left=double, right="long long",
               place="Py_ssize_t", same="Py_ssize_t", value=double, grows=bint, top=double, which="Py_ssize_t",
               by="long long")
cpdef object enlarged(FractionalGroups point, const long long[:, ::1] seeds, long long d, Py_ssize_t widest, double least)
cdef double _put(FractionalGroups point, _Addition cut, Py_ssize_t place, Py_ssize_t i, long long weight) noexcept nogil
cdef double _take(FractionalGroups point, _Addition cut, Py_ssize_t place) noexcept nogil
@cython.locals(c="Py_ssize_t", before="long long", rise=double)
cdef double _add(FractionalGroups point, _Addition cut, Py_ssize_t i, long long weight) noexcept nogil
@cython.locals(d="long long", close="Py_ssize_t", c="Py_ssize_t", i="Py_ssize_t", p="long long", more="long long", top=double,
               which="Py_ssize_t", by="long long", value=double)
cdef (double, Py_ssize_t, long long) _best_addition(
    FractionalGroups point, _Addition cut, Py_ssize_t without, long long right, long long stamp) noexcept nogil

@cython.locals(cut="long long[::1]", column="long long[::1]", times="long long[::1]", filled="long long[::1]",
               end="Py_ssize_t", r="Py_ssize_t")
cpdef object coefficients_in_cuts(
    const long long[::1] indptr, const long long[::1] types, const long long[::1] copies, const long long[::1] begins,
    const long long[::1] cut_of, const long long[::1] weight_of, const long long[::1] denominators)
