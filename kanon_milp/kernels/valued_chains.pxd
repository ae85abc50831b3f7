cimport cython

from kanon_milp.kernels.rows cimport commit, draw
from kanon_milp.kernels.valued_state cimport ValuedState, exchanged, put, take_back, with_one

cdef Py_ssize_t MOST_NODES, DEEPEST, HEALED, HEALING, NEAR, LOOK
cdef double ROUNDING

cdef class Search:
    cdef long long[::1] seen, parent, queue
    cdef int[::1] row
    cdef Py_ssize_t values, tail, source, value, target
    cdef long long stamp, work, made, change
    cdef double leaving, best

@cython.locals(values="Py_ssize_t", nodes="Py_ssize_t", search=Search, kept="long long", before="long long")
cpdef long long reroute(ValuedState c, long long work)
@cython.locals(at="Py_ssize_t", h="Py_ssize_t", r="Py_ssize_t", v="Py_ssize_t")
cdef void _leave(ValuedState c, Search search, double[::1] gains)
@cython.locals(first="Py_ssize_t", h="Py_ssize_t", q="Py_ssize_t")
cdef void _heal(ValuedState c, Search search)
@cython.locals(at="Py_ssize_t", h="Py_ssize_t", v="Py_ssize_t")
cdef void _lower(ValuedState c, Search search, const long long[::1] sources)
@cython.locals(
    head="Py_ssize_t", level="Py_ssize_t", depth="Py_ssize_t", node="Py_ssize_t", before=double, change="long long",
    q="Py_ssize_t")
cdef bint _chain(ValuedState c, Search search, Py_ssize_t h, Py_ssize_t v, Py_ssize_t most) noexcept nogil
@cython.locals(
    r="Py_ssize_t", v="Py_ssize_t", i="Py_ssize_t", begin="Py_ssize_t", end="Py_ssize_t", q="Py_ssize_t",
    g="Py_ssize_t", n="Py_ssize_t")
cdef void _hand_on(ValuedState c, Search search, Py_ssize_t k, Py_ssize_t u, Py_ssize_t node) noexcept nogil
@cython.locals(energy=double)
cdef void _aim(ValuedState c, Search search, Py_ssize_t g, Py_ssize_t v) noexcept nogil
