cimport cython
from kanon_milp.kernels.elementary cimport log, power

from kanon_milp.kernels.rows cimport commit, draw, total, uniform
from kanon_milp.kernels.rules cimport violation_of
from kanon_milp.kernels.valued_state cimport (
    ValuedState, best_target, exchanged, may_have, of_group, of_value, put, take_back, with_one)

cdef double INFINITE, FRACTION, BREAKING, ROUNDING, GOLDEN
cdef Py_ssize_t SAMPLE, DRAWS, TRIED, LEAVING, TARGETS, VALUES, DONORS, STEPS, MENDED, LOOKED

@cython.locals(
    values="Py_ssize_t", best=double, row="Py_ssize_t", into="Py_ssize_t", first="Py_ssize_t", u="Py_ssize_t",
    change=double, begin="Py_ssize_t", end="Py_ssize_t", r="Py_ssize_t", other="Py_ssize_t", lost=double,
    energy=double, targets="Py_ssize_t", g="Py_ssize_t")
cdef double step(ValuedState c, Py_ssize_t h, Py_ssize_t tried) noexcept nogil
@cython.locals(delta=double, change=double)
cpdef double mend(ValuedState c, Py_ssize_t h, Py_ssize_t steps, Py_ssize_t tried) noexcept nogil
@cython.locals(delta=double, before=double, r="Py_ssize_t", following="Py_ssize_t", g="Py_ssize_t")
cpdef double dissolve(ValuedState c, Py_ssize_t h, double limit) noexcept nogil
@cython.locals(
    size="Py_ssize_t", found="Py_ssize_t", gain="long long", delta=double, change=double, mended="Py_ssize_t",
    entry="Py_ssize_t", h="Py_ssize_t")
cpdef double pull(ValuedState c, Py_ssize_t g, double limit) noexcept nogil
@cython.locals(
    begin="Py_ssize_t", covered="Py_ssize_t", sampled="Py_ssize_t", found="Py_ssize_t", gain="long long",
    stride="Py_ssize_t", at="Py_ssize_t", r="Py_ssize_t", h="Py_ssize_t", u="Py_ssize_t")
cdef (Py_ssize_t, long long) _offers(ValuedState c, Py_ssize_t g) noexcept nogil
@cython.locals(change=double)
cdef double _breaking(ValuedState c, Py_ssize_t h, Py_ssize_t u) noexcept nogil
@cython.locals(delta=double, best=double, chosen="Py_ssize_t", a="Py_ssize_t", u="Py_ssize_t")
cdef double _fill(ValuedState c, Py_ssize_t g, Py_ssize_t found, double limit) noexcept nogil
@cython.locals(delta=double, a="Py_ssize_t", r="Py_ssize_t", h="Py_ssize_t", u="Py_ssize_t")
cdef double _top_up(ValuedState c, Py_ssize_t g, Py_ssize_t found) noexcept nogil
@cython.locals(
    i="Py_ssize_t", h="Py_ssize_t", u="Py_ssize_t", begin="Py_ssize_t", count="Py_ssize_t", g="Py_ssize_t",
    energy=double)
cpdef double shift(ValuedState c, Py_ssize_t r, double limit) noexcept nogil
@cython.locals(h="Py_ssize_t", spared=double, g="Py_ssize_t", energy=double)
cpdef double relocate(ValuedState c, Py_ssize_t r, double limit) noexcept nogil
@cython.locals(
    h="Py_ssize_t", u="Py_ssize_t", begin="Py_ssize_t", covered="Py_ssize_t", other="Py_ssize_t", g="Py_ssize_t",
    energy=double, least=double, delta=double)
cpdef double swap(ValuedState c, Py_ssize_t r, double limit) noexcept nogil
@cython.locals(groups="Py_ssize_t", first="Py_ssize_t", g="Py_ssize_t", change=double)
cdef double mend_some(ValuedState c, double limit) noexcept nogil
@cython.locals(delta="long long", r="Py_ssize_t", h="Py_ssize_t", g="Py_ssize_t", energy=double)
cpdef long long settle(ValuedState c)
@cython.locals(at="Py_ssize_t", before=double)
cpdef void descend(ValuedState c, const long long[::1] order)
@cython.locals(at="Py_ssize_t", g="Py_ssize_t", before=double)
cpdef void mend_all(ValuedState c, const long long[::1] order, Py_ssize_t tried)
@cython.locals(best=double, chosen="Py_ssize_t", h="Py_ssize_t", mended=double, value=double)
cpdef bint absorb(ValuedState c, Py_ssize_t g)
@cython.locals(column="Py_ssize_t", found=double)
cdef double _together(ValuedState c, Py_ssize_t g, Py_ssize_t h) noexcept nogil
@cython.locals(r="Py_ssize_t")
cdef bint _all_may(ValuedState c, Py_ssize_t h, Py_ssize_t g) noexcept nogil
@cython.locals(
    rows="Py_ssize_t", loss="long long", made="Py_ssize_t", r="Py_ssize_t", temperature=double, limit=double,
    before=double, kind=double, g="Py_ssize_t", change=double, gained="long long")
cpdef long long make_moves(
    ValuedState c, Py_ssize_t count, const double[::1] heat, const double[::1] shares, const double[::1] chance,
    const long long[::1] alias, int[::1] best, long long lowest)
