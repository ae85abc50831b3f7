cimport cython

@cython.locals(found=object, begins="long long[::1]", at="long long[::1]", candidates="int[::1]", into="long long[::1]",
               filled="int[::1]", i="Py_ssize_t", g="Py_ssize_t")
cpdef object ordered_covers(const long long[::1] indptr, const int[::1] members, const long long[::1] order)

@cython.locals(begins=object, end="Py_ssize_t", inside="unsigned char[::1]", found="int[::1]", begin_of="long long[::1]",
               at="Py_ssize_t", g="Py_ssize_t")
cpdef object nested_candidates(
    const long long[::1] indptr, const int[::1] members, const long long[::1] set_indptr, const int[::1] set_members,
    Py_ssize_t types)

@cython.locals(found=object, begins="long long[::1]", at="long long[::1]", by_first="int[::1]", inside="unsigned char[::1]",
               into="double[::1]", i="Py_ssize_t", g="Py_ssize_t")
cpdef object nested_shares(
    const long long[::1] indptr, const int[::1] members, const double[::1] share, Py_ssize_t widest, Py_ssize_t types)

@cython.locals(
    begins="const long long[::1]", members="const long long[::1]", option_begins="const long long[::1]",
    candidates="const long long[::1]", chosen="long long[::1]", seen="long long[::1]", h="Py_ssize_t",
    best="Py_ssize_t", types="long long", e="Py_ssize_t", q="Py_ssize_t", g="Py_ssize_t")
cpdef object cheapest_covers(
    groups, const long long[::1] candidate, const long long[::1] size, options, const long long[::1] cost,
    const long long[::1] least)

@cython.locals(i="Py_ssize_t", j="Py_ssize_t", at="Py_ssize_t", other="Py_ssize_t", first="Py_ssize_t", last="Py_ssize_t",
               below="long long", own="long long", before="long long", others="long long", reduced="long long", here="long long")
cpdef void pairs_within(
    const long long[::1] indptr, const int[::1] members, const long long[::1] cost, const unsigned char[::1] opened,
    const long long[::1] phi, const long long[::1] most, const long long[::1] counts, const long long[::1] multipliers,
    const long long[::1] value, unsigned char[::1] found) except *
