cimport cython
from kanon_milp.kernels.moves cimport pull, settle
from kanon_milp.kernels.rows cimport Lists, Rows, best_option, close, commit, place, undo

cdef long long FAILED
cdef double INFINITE

@cython.locals(
    nowhere="Py_ssize_t", a="Py_ssize_t", g="Py_ssize_t", q="Py_ssize_t", r="Py_ssize_t", e="Py_ssize_t",
    found="Py_ssize_t", least="Py_ssize_t", left="double", reduced="double[::1]", rows="long long[::1]")
cpdef void open_by_price(Rows s, const long long[::1] order, const double[::1] price, double slack)
@cython.locals(nowhere="Py_ssize_t", r="Py_ssize_t", g="Py_ssize_t", left="long long")
cpdef long long complete(Rows s)
@cython.locals(
    i="Py_ssize_t", g="Py_ssize_t", q="Py_ssize_t", best="long long", chosen="Py_ssize_t",
    memory="unsigned long long", change="long long", pulled="long long")
cdef void _open_for(Rows s, Py_ssize_t r) noexcept nogil
@cython.locals(a="Py_ssize_t", g="Py_ssize_t", change="long long")
cpdef void descend(Rows s, const long long[::1] order)
