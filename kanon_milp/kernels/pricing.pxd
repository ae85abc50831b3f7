cimport cython

from kanon_milp.kernels.closed_form cimport Number, add_cheapest
from kanon_milp.kernels.sorting cimport sort_stably

cdef Py_ssize_t SORTED, SMALL
cdef long long FAR

@cython.locals(more=Number)
cdef Number take(
    Py_ssize_t i, const long long[::1] begins, const long long[::1] cut_of, const long long[::1] weight_of,
    const long long[::1] denominators, const Number[::1] prices, long long[::1] filled, Number zero) noexcept nogil

cdef void give_back(
    Py_ssize_t i, const long long[::1] begins, const long long[::1] cut_of, const long long[::1] weight_of,
    const long long[::1] denominators, long long[::1] filled) noexcept nogil

@cython.locals(negative="Py_ssize_t", found="Py_ssize_t", depth="Py_ssize_t", at="Py_ssize_t", need="Py_ssize_t")
cdef (Number, Py_ssize_t, long long) _grow(
    const long long[::1] items, const Number[::1] reduced, const Number[::1] prefix, long long[::1] chosen,
    Number[::1] values, long long[::1] best, long long[::1] filled, Py_ssize_t count,
    const long long[::1] begins, const long long[::1] cut_of, const long long[::1] weight_of,
    const long long[::1] denominators, const Number[::1] prices,
    Py_ssize_t missing, Number value, Number below, bint first, long long nodes) noexcept nogil

@cython.locals(few="Py_ssize_t", count="Py_ssize_t", i="Py_ssize_t", copies="Py_ssize_t")
cdef Py_ssize_t _sort_rows(
    const int[::1] members, Py_ssize_t begin, Py_ssize_t end, Number w, const Number[::1] counts,
    const Number[::1] multipliers, Number limit, Py_ssize_t least, Py_ssize_t without,
    long long[::1] items, Number[::1] reduced, Number[::1] prefix,
    long long[::1] kept, Number[::1] keys, long long[::1] order, long long[::1] other) noexcept nogil

@cython.locals(rows="Py_ssize_t", types="Py_ssize_t", heap="Py_ssize_t", total="Py_ssize_t")
cdef (Py_ssize_t, Py_ssize_t, Py_ssize_t) _capacities(
    const long long[::1] indptr, const int[::1] members, const Number[::1] least, const Number[::1] counts,
    const long long[::1] chosen) noexcept nogil

@cython.locals(entries="Py_ssize_t", over=Number, added=Number)
cdef (Number, Number, bint) _closed_form(
    const int[::1] members, Py_ssize_t begin, Py_ssize_t end, Number w, Number least,
    const Number[::1] counts, const Number[::1] multipliers, Number[::1] keys, long long[::1] items) noexcept nogil

@cython.locals(
    rows="Py_ssize_t", widest="Py_ssize_t", entries="Py_ssize_t", items="long long[::1]", reduced=Number[::1],
    prefix=Number[::1], places="long long[::1]", values=Number[::1], best="long long[::1]", kept="long long[::1]",
    keys=Number[::1], order="long long[::1]", other="long long[::1]", heap_keys=Number[::1], heap="long long[::1]",
    filled="long long[::1]", phi=Number[::1], complete="unsigned char[::1]", found_of="long long[::1]",
    sizes="long long[::1]", types="long long[::1]", groups="Py_ssize_t", length="Py_ssize_t", g="Py_ssize_t", w=Number,
    begin="Py_ssize_t", end="Py_ssize_t", needed="Py_ssize_t", value=Number, marginal=Number, possible=bint,
    cheapest=Number, found="Py_ssize_t", left="long long")
cpdef object cheapest_groups(
    const long long[::1] indptr, const int[::1] members, const Number[::1] cost, const Number[::1] least,
    const Number[::1] surcharge, const Number[::1] counts, const Number[::1] multipliers,
    const long long[::1] begins, const long long[::1] cut_of, const long long[::1] weight_of,
    const long long[::1] denominators, const Number[::1] prices,
    const long long[::1] chosen, Number below, long long most_nodes)

@cython.locals(
    rows="Py_ssize_t", widest="Py_ssize_t", entries="Py_ssize_t", items="long long[::1]", reduced=Number[::1],
    prefix=Number[::1], places="long long[::1]", values=Number[::1], best="long long[::1]", kept="long long[::1]",
    keys=Number[::1], order="long long[::1]", other="long long[::1]", heap_keys=Number[::1], heap="long long[::1]",
    filled="long long[::1]", every="long long[::1]", possible="unsigned char[::1]", w=Number, begin="Py_ssize_t", end="Py_ssize_t",
    needed="Py_ssize_t", value=Number, marginal=Number, enough=bint, cheapest=Number, found="Py_ssize_t",
    left="long long")
cpdef object possible_pairs(
    const long long[::1] indptr, const int[::1] members, const Number[::1] cost, const Number[::1] least,
    const Number[::1] surcharge, const Number[::1] counts, const Number[::1] multipliers,
    const long long[::1] begins, const long long[::1] cut_of, const long long[::1] weight_of,
    const long long[::1] denominators, const Number[::1] prices,
    const Number[::1] below, long long most_nodes, long long most_steps)
