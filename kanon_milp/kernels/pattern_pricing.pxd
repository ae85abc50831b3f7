cimport cython

ctypedef fused Number:
    double
    long long

cdef long long NONE, UNKNOWN, LOW

@cython.locals(key="long long", at="long long", slot="Py_ssize_t")
cdef inline Py_ssize_t _slot(int one, int other, long long mark, Py_ssize_t mask, long long[:, ::1] slots) noexcept nogil

@cython.locals(
    types="Py_ssize_t", width="Py_ssize_t", slots="long long[:, ::1]", size="long long[::1]", group="long long[::1]", missing="Py_ssize_t", i="Py_ssize_t", v="Py_ssize_t",
    a="Py_ssize_t", b="Py_ssize_t", slot="Py_ssize_t", by_label=bint, highest="long long", w="long long")
cpdef Py_ssize_t cheapest_vectors(
    const int[:, ::1] first, const int[:, ::1] second, const long long[::1] of_first, const long long[::1] of_second,
    const long long[:, ::1] first_cost, const long long[:, ::1] second_cost, const long long[::1] cost,
    const long long[::1] least, const long long[::1] counts, long long[::1] found) except -1

@cython.locals(
    types="Py_ssize_t", width="Py_ssize_t", kind=object, slots="long long[:, ::1]", group="int[::1]", value=Number[::1], size=Number[::1], head="int[::1]", live="int[::1]",
    unlike="long long[::1]", length="long long[::1]", asked="long long[::1]",
    turn="long long", vectors="int[::1]", phi=Number[::1], ends="long long[::1]",
    members="int[::1]", number="Py_ssize_t", pairs="Py_ssize_t", columns="Py_ssize_t", count="Py_ssize_t",
    v="Py_ssize_t", w=Number, need=Number, a="Py_ssize_t", b="Py_ssize_t", groups="Py_ssize_t", i="Py_ssize_t",
    reduced=Number, slot="Py_ssize_t", g="Py_ssize_t", h="Py_ssize_t", amount=Number, alive="Py_ssize_t",
    check="Py_ssize_t", step="Py_ssize_t", kept="Py_ssize_t", e="Py_ssize_t", end="Py_ssize_t", unsure="Py_ssize_t",
    by_label=bint, price=Number[::1], every="long long[::1]", needed="long long", some="Py_ssize_t", limit=Number,
    wide=Number, skipped="Py_ssize_t", low="Py_ssize_t", high="Py_ssize_t", mask="Py_ssize_t", j="Py_ssize_t", c="Py_ssize_t", p="Py_ssize_t", last="Py_ssize_t")
cpdef object price_vectors(
    const int[:, ::1] first, const int[:, ::1] second, const long long[::1] of_first, const long long[::1] of_second,
    const Number[:, ::1] first_cost, const Number[:, ::1] second_cost, const int[:, :, ::1] label,
    const int[:, :, ::1] cheaper, const int[:, ::1] classes, Py_ssize_t always, bint closed,
    const Number[::1] cost, const Number[::1] least, const Number[::1] counts, const Number[::1] multipliers,
    Number added, Number threshold, Number margin, bint listed, Number[::1] below)
