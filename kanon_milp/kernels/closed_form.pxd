cimport cython

ctypedef fused Number:
    double
    long long

@cython.locals(entries="Py_ssize_t", over=Number, value=Number, e="Py_ssize_t")
cpdef (Py_ssize_t, Number, Number) add_cheapest(
    const int[::1] members, Py_ssize_t begin, Py_ssize_t end,
    const Number[::1] counts, const Number[::1] multipliers, const Number[::1] order, Number rise,
    Number w, Number need, Number[::1] keys, long long[::1] items) noexcept nogil

@cython.locals(capacity="Py_ssize_t", entries="Py_ssize_t", over=Number, added=Number, keys=Number[::1], items="long long[::1]")
cpdef Number subproblems(
    const long long[::1] indptr, const int[::1] members, const Number[::1] cost, const Number[::1] least,
    const Number[::1] surcharge, const Number[::1] counts, const Number[::1] multipliers, const Number[::1] order,
    Number rise, Number never, bint everything, Number[::1] phi, Number[::1] marginal, Number[::1] taken)

@cython.locals(widest="Py_ssize_t", seen="long long[::1]", keys=Number[::1], items="long long[::1]", chosen="long long[::1]",
               amounts=Number[::1], different="Py_ssize_t", number="Py_ssize_t", entries="Py_ssize_t", first="Py_ssize_t",
               at="Py_ssize_t", i="Py_ssize_t", new="Py_ssize_t", dtype=object)
cpdef void different_values(
    const long long[::1] indptr, const int[::1] members, const Number[::1] cost, const Number[::1] least,
    const Number[::1] surcharge, const Number[::1] counts, const Number[::1] multipliers, const Number[::1] order,
    Number rise, const long long[::1] value_of, long long presence, Number never, bint everything,
    const unsigned char[::1] left, Number[::1] phi, Number[::1] taken, const int[::1] ascending, Number[::1] average) except *
