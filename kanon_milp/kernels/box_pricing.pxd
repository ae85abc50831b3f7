cimport cython

from kanon_milp.kernels.sorting cimport sort_stably

cdef long long NEVER
cdef Py_ssize_t PASSES
cdef long long INTERVAL, SET

@cython.final
cdef class BoxSearch:
    cdef readonly const int[:, ::1] codes
    cdef readonly const long long[::1] kind, begin, place, further, height, tree, label, cost, multipliers, order
    cdef readonly const long long[::1] begins, cut_of, weight_of, denominators, prices
    cdef readonly long long[::1] rank, touched
    cdef readonly long long smallest, largest, columns
    cdef public long long nodes, below, lowest, best, count, few
    cdef public double share
    cdef readonly int[:, ::1] rows
    cdef readonly long long[::1] reduced
    cdef long long[::1] held, has, rise, charge, length, at, chosen, sets, penalty, placed, paid, top, top_row, sums
    cdef long long[::1] keys, sorted, other
    cdef long long[:, ::1] items, wide, turn, queue, least, low, high

@cython.locals(rest="long long")
cpdef bint cheapest_of_seed(BoxSearch s, Py_ssize_t seed, long long nodes)
@cython.locals(found="long long", a="Py_ssize_t")
cpdef long long penalty_of(BoxSearch s, const long long[::1] rows, Py_ssize_t count) noexcept nogil
@cython.locals(m="Py_ssize_t", offset="Py_ssize_t", c="Py_ssize_t", v="Py_ssize_t", b="Py_ssize_t", h="Py_ssize_t", t="Py_ssize_t",
               u="Py_ssize_t", level="Py_ssize_t")
cdef void _begin(BoxSearch s, Py_ssize_t seed) noexcept nogil
@cython.locals(total="long long", c="Py_ssize_t", v="Py_ssize_t", a="long long")
cdef long long _with(BoxSearch s, Py_ssize_t depth, Py_ssize_t x) noexcept nogil
@cython.locals(total="long long", c="Py_ssize_t", v="Py_ssize_t", a="long long")
cdef void _widen(BoxSearch s, Py_ssize_t depth, Py_ssize_t to, Py_ssize_t x) noexcept nogil
@cython.locals(c="Py_ssize_t", e="Py_ssize_t")
cdef void _leave(BoxSearch s, Py_ssize_t x) noexcept nogil
@cython.locals(total="long long", e="Py_ssize_t", r="Py_ssize_t", before="long long")
cdef long long _put(BoxSearch s, Py_ssize_t x) noexcept nogil
@cython.locals(value="long long", a="Py_ssize_t")
cdef void _gather(BoxSearch s, Py_ssize_t row, Py_ssize_t most) noexcept nogil
@cython.locals(low="Py_ssize_t", high="Py_ssize_t", middle="Py_ssize_t")
cdef Py_ssize_t _others(BoxSearch s, long long e, Py_ssize_t must, Py_ssize_t most) noexcept nogil
@cython.locals(others="Py_ssize_t", value="long long")
cdef long long _value(BoxSearch s, Py_ssize_t depth, long long e, long long own, Py_ssize_t must, Py_ssize_t most) noexcept nogil
@cython.locals(depth="Py_ssize_t", rest="long long", m="Py_ssize_t", a="Py_ssize_t", j="Py_ssize_t")
cdef long long _search(BoxSearch s) noexcept nogil
@cython.locals(to="Py_ssize_t", y="Py_ssize_t", m="Py_ssize_t", a="Py_ssize_t", x="Py_ssize_t")
cdef bint _descend(BoxSearch s, Py_ssize_t depth, Py_ssize_t j) noexcept nogil
@cython.locals(placed="Py_ssize_t", must="Py_ssize_t", most="Py_ssize_t", e="long long", own="long long", inside="Py_ssize_t",
               m="Py_ssize_t", left="Py_ssize_t", a="Py_ssize_t", i="Py_ssize_t", x="Py_ssize_t")
cdef void _line_up(BoxSearch s, Py_ssize_t depth) noexcept nogil
@cython.locals(placed="Py_ssize_t", must="Py_ssize_t", most="Py_ssize_t", e="long long", others="Py_ssize_t", value="long long",
               c="Py_ssize_t", a="Py_ssize_t")
cdef void _keep(BoxSearch s, Py_ssize_t depth) noexcept nogil
@cython.locals(changed="Py_ssize_t", x="Py_ssize_t")
cpdef Py_ssize_t exchange(BoxSearch s, long long[::1] group, long long[:, ::1] members, long long[::1] sizes,
                          long long[::1] penalties, Py_ssize_t begin, Py_ssize_t end)
@cython.locals(own="Py_ssize_t", without="long long", saved="long long", near="Py_ssize_t", least="long long", to="Py_ssize_t",
               gain="long long", g="Py_ssize_t", wide="long long", better="long long", partner="Py_ssize_t", before="long long",
               after="long long", a="Py_ssize_t", y="Py_ssize_t")
cdef Py_ssize_t _better_place(BoxSearch s, Py_ssize_t x, long long[::1] group, long long[:, ::1] members, long long[::1] sizes,
                              long long[::1] penalties) noexcept nogil
@cython.locals(total="long long", c="Py_ssize_t", v="Py_ssize_t", w="Py_ssize_t")
cdef long long _apart(BoxSearch s, Py_ssize_t x, Py_ssize_t y) noexcept nogil
@cython.locals(a="Py_ssize_t")
cdef void _replace(long long[:, ::1] members, Py_ssize_t g, Py_ssize_t size, long long old, long long new) noexcept nogil
@cython.locals(first="Py_ssize_t", started=bint, a="Py_ssize_t", x="Py_ssize_t", found="long long")
cdef long long _span(BoxSearch s, const long long[:, ::1] members, Py_ssize_t g, Py_ssize_t size, Py_ssize_t without,
                     Py_ssize_t extra) noexcept nogil
