cimport cython
from kanon_milp.kernels.elementary cimport log
from kanon_milp.kernels.moves cimport pull, shift
from kanon_milp.kernels.rows cimport Lists, Rows, close, commit, draw, undo, uniform

cdef long long FAILED

@cython.locals(
    rows="Py_ssize_t", step="Py_ssize_t", g="Py_ssize_t", change="long long", temperature="double", limit="double",
    kind="double")
cpdef void make_moves(
    Rows s, Py_ssize_t count, double hot, double cold, double pulls, double drops, const double[::1] chance,
    const long long[::1] alias)
@cython.locals(
    n="Py_ssize_t", j="Py_ssize_t", smalls="Py_ssize_t", larges="Py_ssize_t", a="Py_ssize_t", b="Py_ssize_t",
    whole="double", chance="double[::1]", p="double[::1]", alias="long long[::1]", small="long long[::1]",
    large="long long[::1]")
cpdef object alias_tables(const double[::1] weight)
