cimport cython

from kanon_milp.kernels.size_search cimport FloatSizeSearch, IntSizeSearch, charge_numbers, cheapest_rests
from kanon_milp.kernels.sorting cimport sort_stably

cdef Py_ssize_t PATIENCE, STEPS, NODE_STEPS, STEP_NODES
cdef long long MOST
cdef double EMD_PART

cdef class RowBranching:
    cdef readonly Py_ssize_t number, made
    cdef readonly long long[::1] touched, type_of, first, places, y, trial, taken, forced, allowed, often, kinds
    cdef readonly long long[::1] stack_row, stack_value, split, least, most
    cdef readonly unsigned char[::1] wide, likely, undone
    cdef readonly double slack
    cdef readonly bint is_allowed
    cdef readonly long long highest_charge, beyond
    cdef public long long nodes

@cython.final
cdef class FloatRowBranching(RowBranching):
    cdef readonly FloatSizeSearch search
    cdef readonly double[::1] shares, kept, constants, over, stack_bound
    cdef public double value, cost, bound, weak, highest
    cdef public double[::1] phi, cheapest
    cdef public double kept_charge
    cdef double cut_off(self, double x) noexcept nogil

@cython.final
cdef class IntRowBranching(RowBranching):
    cdef readonly IntSizeSearch search
    cdef readonly long long[::1] shares, kept, constants, over, stack_bound
    cdef public long long value, cost, bound, weak, highest
    cdef public long long[::1] phi, cheapest
    cdef public long long kept_charge
    cdef long long cut_off(self, double x) noexcept nogil

ctypedef fused AnyRowBranching:
    FloatRowBranching
    IntRowBranching

cdef _set_numbers(AnyRowBranching s, kind)
cdef _reserve(AnyRowBranching s, kind)
@cython.locals(place="Py_ssize_t", i="Py_ssize_t", number="Py_ssize_t", r="Py_ssize_t")
cdef void gather(AnyRowBranching s) noexcept nogil
@cython.locals(place="Py_ssize_t", i="Py_ssize_t", r="Py_ssize_t", e="Py_ssize_t", most="long long", looked="long long")
cdef void _touch(AnyRowBranching s) noexcept nogil
@cython.locals(
    begin="Py_ssize_t", end="Py_ssize_t", place="Py_ssize_t", at="Py_ssize_t", e="Py_ssize_t", i="Py_ssize_t",
    d="long long", weight="long long", back="long long", first=bint)
cdef void _maximize(AnyRowBranching s, Py_ssize_t r) noexcept nogil
@cython.locals(
    possible=bint, v="Py_ssize_t", begin="Py_ssize_t", count="Py_ssize_t", copy="long long", place="Py_ssize_t",
    i="Py_ssize_t", e="Py_ssize_t", end="Py_ssize_t", kind="Py_ssize_t", at="Py_ssize_t")
cdef bint _sort_again(AnyRowBranching s) noexcept nogil
@cython.locals(
    size="Py_ssize_t", width="Py_ssize_t", place="Py_ssize_t", rest="Py_ssize_t", depth="Py_ssize_t",
    different="Py_ssize_t", v="Py_ssize_t", first="Py_ssize_t", x="Py_ssize_t", number="Py_ssize_t", i="Py_ssize_t",
    touched="Py_ssize_t", r="Py_ssize_t", e="Py_ssize_t", weight="long long")
cdef void _take_cheapest(AnyRowBranching s) noexcept nogil
@cython.locals(over="long long")
cdef long long _slope(AnyRowBranching s, Py_ssize_t r, Py_ssize_t e) noexcept nogil
@cython.locals(total="double", number="Py_ssize_t", r="Py_ssize_t", place="Py_ssize_t", slope="long long")
cdef double _length(AnyRowBranching s) noexcept nogil
@cython.locals(number="Py_ssize_t", r="Py_ssize_t", place="Py_ssize_t", e="Py_ssize_t", moved="double")
cdef void _move(AnyRowBranching s, double length) noexcept nogil
@cython.locals(number="Py_ssize_t", r="Py_ssize_t", place="Py_ssize_t")
cdef void _keep(AnyRowBranching s) noexcept nogil
@cython.locals(number="Py_ssize_t", r="Py_ssize_t", place="Py_ssize_t")
cdef void _return_to_kept(AnyRowBranching s) noexcept nogil
@cython.locals(
    place="Py_ssize_t", scale="double", idle="Py_ssize_t", r="Py_ssize_t", number="Py_ssize_t", one=bint,
    v="Py_ssize_t", d="Py_ssize_t", beyond="double", length="double", moved="double")
cdef void _raise_shares(AnyRowBranching s, Py_ssize_t steps) noexcept nogil
@cython.locals(
    best="Py_ssize_t", split="long long", most="double", place="Py_ssize_t", i="Py_ssize_t", average="double",
    low="long long", fraction="double", e="Py_ssize_t", r="Py_ssize_t")
cdef (Py_ssize_t, long long) _branching_row(AnyRowBranching s) noexcept nogil
@cython.locals(
    best="Py_ssize_t", most="long long", size="Py_ssize_t", v="Py_ssize_t", x="Py_ssize_t", far="long long",
    number="Py_ssize_t")
cdef (Py_ssize_t, long long) _branching_value(AnyRowBranching s) noexcept nogil
cdef void _restrict(AnyRowBranching s, Py_ssize_t row, Py_ssize_t value, long long split, bint more) noexcept nogil
cdef void _undo(AnyRowBranching s, Py_ssize_t d) noexcept nogil
@cython.locals(
    depth="Py_ssize_t", steps="Py_ssize_t", rows="Py_ssize_t", d="Py_ssize_t", row="Py_ssize_t", value="Py_ssize_t",
    split="long long", more=bint, last="Py_ssize_t")
cdef void branch_on_rows(AnyRowBranching s) noexcept nogil
