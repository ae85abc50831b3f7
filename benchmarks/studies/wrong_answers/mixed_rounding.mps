* HiGHS 1.14.0 answers 15, marked optimal: minimize 2x + 3z, x + z \u2265 4.5, 0 \u2264 x, z \u2264 10, z integer.
* known optimum: 9
NAME mixed_rounding FREE
ROWS
 N obj
 G r0
COLUMNS
 x0 obj 2
 x0 r0 1
 M0 'MARKER' 'INTORG'
 x1 obj 3
 x1 r0 1
 M1 'MARKER' 'INTEND'
RHS
 rhs r0 4.5
BOUNDS
 UP bnd x0 10
 LO bnd x1 0
 UP bnd x1 10
ENDATA
