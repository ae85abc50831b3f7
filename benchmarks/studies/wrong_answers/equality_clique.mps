* HiGHS 1.15.1 answers 2, marked optimal, unless presolve or its aggregator is off.
* The model is what is left of a small t-closeness problem. Its continuous variables are integral by themselves, and
* bounds that presolve derives for them are not (https://github.com/ERGO-Code/HiGHS/issues/3274).
* known optimum: 0
NAME equality_clique FREE
ROWS
 N obj
 E r0
 L r1
 L r2
 L r3
 E r4
 E r5
 G r6
 L r7
 L r8
 L r9
 L r10
COLUMNS
 M0 'MARKER' 'INTORG'
 x0 r0 1
 x0 r4 1
 x0 r7 3
 x1 obj 1
 x1 r0 1
 x1 r2 1
 x1 r5 1
 x1 r9 3
 x2 obj 2
 x2 r0 1
 x3 r1 1
 x3 r4 1
 x3 r8 3
 x4 obj 1
 x4 r5 1
 x5 obj 1
 x5 r5 1
 x6 r1 -1
 x7 r2 -1
 x7 r6 -2
 M1 'MARKER' 'INTEND'
 x8 r4 -1
 x8 r7 -1
 x8 r8 -1
 x8 r10 -3
 x9 r5 -1
 x9 r6 1
 x9 r9 -1
 x10 r7 -1
 x10 r10 2
 x11 r8 -1
 x11 r10 2
RHS
 rhs r0 1
BOUNDS
 LO bnd x0 0
 UP bnd x0 1
 LO bnd x1 0
 UP bnd x1 1
 LO bnd x2 0
 UP bnd x2 1
 LO bnd x3 0
 UP bnd x3 1
 LO bnd x4 0
 UP bnd x4 1
 LO bnd x5 0
 UP bnd x5 1
 LO bnd x6 0
 UP bnd x6 1
 LO bnd x7 0
 UP bnd x7 1
 UP bnd x8 2
 UP bnd x9 5
ENDATA
