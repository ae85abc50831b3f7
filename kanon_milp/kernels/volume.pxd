cpdef double dot(const double[::1] a, const double[::1] b) noexcept nogil
cpdef void spread(
    const long long[::1] indptr, const int[::1] nested, const double[::1] multipliers, double[::1] surcharge) noexcept nogil
cpdef void add_shares(
    const long long[::1] indptr, const int[::1] nested, const double[::1] share, double[::1] into) noexcept nogil
cpdef bint move(
    double[::1] trial, const double[::1] best, const double[::1] direction, const double[::1] scale, double rise,
    Py_ssize_t free) noexcept nogil
cpdef (double, bint) mix(
    double[::1] average, const double[::1] ahead, const double[::1] scale, double[::1] share, const double[::1] phi,
    double weight) noexcept nogil
