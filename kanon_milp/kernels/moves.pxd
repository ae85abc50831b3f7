cimport cython
from kanon_milp.kernels.elementary cimport log
from kanon_milp.kernels.rows cimport Lists, Rows, best_option, close, commit, draw, place, undo, uniform

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
