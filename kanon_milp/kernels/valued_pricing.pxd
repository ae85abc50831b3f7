cimport cython

from kanon_milp.kernels.row_branching cimport AnyRowBranching, branch_on_rows, gather
from kanon_milp.kernels.size_search cimport (
    charge_numbers, cheapest_rests, far_by_number, limit_numbers, rows_of, search_passes, sort_rows)
from kanon_milp.kernels.tree_subproblem cimport cheapest_of_size, select
from kanon_milp.kernels.valued_groups cimport lowest_size

cdef Py_ssize_t PREPARED, LOWEST_CHARGE, FIRST_CHARGE, FINER, FIRST_PASS

@cython.locals(possible=bint, fine="Py_ssize_t", down="Py_ssize_t", parts="Py_ssize_t")
cdef bint _best_charge(AnyRowBranching s) noexcept nogil
cdef void _cheapest(AnyRowBranching s) noexcept nogil
@cython.locals(g="Py_ssize_t", best_size="Py_ssize_t", down="Py_ssize_t", size="Py_ssize_t", step="Py_ssize_t", possible=bint)
cdef Py_ssize_t _price(AnyRowBranching s, Py_ssize_t middle) noexcept nogil
@cython.locals(
    complete="unsigned char[::1]", found_of="long long[::1]", sizes="long long[::1]", types="long long[::1]",
    groups="Py_ssize_t", end="Py_ssize_t", c="Py_ssize_t", middle="Py_ssize_t", rows="Py_ssize_t", values="Py_ssize_t",
    before="long long", size="Py_ssize_t", d="Py_ssize_t", possible=bint)
cpdef object cheapest_valued_groups(
    AnyRowBranching s, const long long[::1] chosen, object below, long long most_single, long long most_branched,
    long long all_nodes)
