cimport cython

ctypedef fused Number:
    double
    long long

cdef Py_ssize_t STEPS, WORK

cdef inline Number _loss(long long word, Py_ssize_t at, const Number[:, ::1] table) noexcept nogil

@cython.locals(value=Number, size=Number, reduced=Number, amount=Number, p="Py_ssize_t", i="Py_ssize_t")
cdef inline Number _phi(
    int[::1] rows, Number[::1] reach, Py_ssize_t begin, Py_ssize_t end, Number most, Number price, Number need,
    const Number[::1] counts, const Number[::1] multipliers, Number none) noexcept nogil

@cython.locals(
    types="Py_ssize_t", bits="Py_ssize_t", kind=object, found=Number[::1], near=Number[::1], rows=Number[::1],
    held="Py_ssize_t", size=Number, loss=Number, i="Py_ssize_t", j="Py_ssize_t", b="Py_ssize_t", p="Py_ssize_t",
    work="Py_ssize_t", ended=bint, line="Py_ssize_t")
cpdef object nearest_costs(
    const int[:, ::1] label, const Number[:, ::1] delta, const Number[::1] counts, Number need, object over)

@cython.locals(
    types="Py_ssize_t", bits="Py_ssize_t", words="Py_ssize_t", kind=object, zero=Number, none=Number,
    unlike="long long[:, ::1]", every="long long[::1]", held="long long[:, ::1]", cost=Number[::1],
    begin="long long[::1]", following="long long[::1]", other="long long[::1]", turn="long long[::1]",
    rows="int[::1]", reach=Number[::1], choice="int[::1]", choice_reach=Number[::1], barred="int[::1]",
    found="long long[:, ::1]", phi=Number[::1], ends="long long[::1]", members="int[::1]",
    total=Number, number="Py_ssize_t", pairs="Py_ssize_t", seen="Py_ssize_t", enough=bint,
    pairs_before="Py_ssize_t", number_before="Py_ssize_t", total_before=Number, worth=Number, depth="Py_ssize_t",
    p="Py_ssize_t", q="Py_ssize_t", j="Py_ssize_t", b="Py_ssize_t", c="Py_ssize_t", k="Py_ssize_t", e="Py_ssize_t",
    loss=Number, w=Number, fresh=bint, closed=bint, same=bint, whole=bint, promising=bint, value=Number, size=Number,
    first="Py_ssize_t", last="Py_ssize_t", price=Number, chosen="Py_ssize_t", word="long long", end="Py_ssize_t",
    work="Py_ssize_t", ended=bint, table=Number[:, ::1], limit=Number, wide=Number, line="Py_ssize_t",
    begun="Py_ssize_t")
cpdef object price_closures(
    const int[:, ::1] label, const Number[:, ::1] delta, const Number[::1] counts,
    const Number[::1] multipliers, Number need, Number added, Number threshold, Number margin, bint listed, bint without_top,
    Py_ssize_t seed, Py_ssize_t until, Py_ssize_t steps, Py_ssize_t room, object over)
