cimport cython
from kanon_milp.kernels.elementary cimport log
from kanon_milp.kernels.rows cimport Lists, commit, draw, place, undo

cdef long long FAILED, SPAN
cdef Py_ssize_t WINDOW, COPIES, LONGEST
cdef double PULLS, DROPS

cdef class LinkedRows(Lists):
    cdef readonly const int[::1] type_of, option_type, set_of, choices, wanting
    cdef readonly const long long[::1] begins, options, option_cost, choices_at, wanting_at
    cdef readonly const int[:, ::1] part
    cdef readonly int[::1] option, trial, queue, log_mover, log_option, seen, picks
    cdef readonly unsigned char[::1] barred
    cdef readonly Py_ssize_t sets, opening, moved, queued
    cdef readonly long long cell

cdef long long _below(LinkedRows s, long long end) noexcept nogil
cdef double _fraction(LinkedRows s) noexcept nogil
@cython.locals(
    now="Py_ssize_t", k="Py_ssize_t", current="Py_ssize_t", found="Py_ssize_t", part="Py_ssize_t", at="Py_ssize_t",
    c="Py_ssize_t", change="long long", stays="bint")
cdef long long _price(LinkedRows s, Py_ssize_t r, Py_ssize_t o, Py_ssize_t g) noexcept nogil
cdef bint _note(LinkedRows s, Py_ssize_t g) noexcept nogil
@cython.locals(k="Py_ssize_t", current="Py_ssize_t", into="Py_ssize_t")
cdef bint _apply(LinkedRows s, Py_ssize_t r, Py_ssize_t o) noexcept nogil
cdef void _take_back(LinkedRows s) noexcept nogil
@cython.locals(i="Py_ssize_t", o="Py_ssize_t", option="Py_ssize_t", best="long long", change="long long")
cdef long long _relocate(LinkedRows s, Py_ssize_t r) noexcept nogil
@cython.locals(at="Py_ssize_t", change="long long", each="long long")
cdef long long _close(LinkedRows s, Py_ssize_t g, long long limit) noexcept nogil
@cython.locals(k="Py_ssize_t", current="Py_ssize_t", harm="long long")
cdef long long _harm(LinkedRows s, Py_ssize_t r, bint sparing) noexcept nogil
@cython.locals(
    begin="Py_ssize_t", k="Py_ssize_t", count="Py_ssize_t", found="Py_ssize_t", start="Py_ssize_t", o="Py_ssize_t",
    i="Py_ssize_t", rows="Py_ssize_t", shift="Py_ssize_t", copy="Py_ssize_t", e="Py_ssize_t", r="Py_ssize_t",
    best="Py_ssize_t", least="long long", change="long long", harm="long long", total="long long")
cdef long long _fill(LinkedRows s, Py_ssize_t g, Py_ssize_t need, bint sparing) noexcept nogil
@cython.locals(o="Py_ssize_t", part="Py_ssize_t", begin="Py_ssize_t", end="Py_ssize_t", found="Py_ssize_t")
cdef Py_ssize_t _partner(LinkedRows s, Py_ssize_t g) noexcept nogil
@cython.locals(
    at="Py_ssize_t", g="Py_ssize_t", need="Py_ssize_t", moved="Py_ssize_t", queued="Py_ssize_t", added="long long")
cdef long long _repair(LinkedRows s, long long change, long long limit) noexcept nogil
@cython.locals(
    rows="Py_ssize_t", step="Py_ssize_t", g="Py_ssize_t", r="Py_ssize_t", at="Py_ssize_t", temperature="double",
    kind="double", limit="long long", change="long long")
cpdef void make_moves(
    LinkedRows s, Py_ssize_t count, double hot, double cold, const double[::1] chance, const long long[::1] alias)
@cython.locals(need="Py_ssize_t", change="long long")
cdef long long _pull(LinkedRows s, Py_ssize_t g) noexcept nogil
@cython.locals(i="Py_ssize_t", o="Py_ssize_t", part="Py_ssize_t", begin="Py_ssize_t", g="Py_ssize_t", change="long long")
cdef long long _shift(LinkedRows s, Py_ssize_t r) noexcept nogil
