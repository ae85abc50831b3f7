* SCIP 10.0.2 answers 9, marked optimal, unless weak dual reductions are off.
* The model is what is left of the table 3 2, 3 2, 0 0, 1 2, 1 0, 1 0 under k = 3: four groups may be opened, and the
* two of cost 1 that split the rows evenly are the best.
* known optimum: 6
NAME weak_dual_reductions FREE
ROWS
 N obj
 E r0
 E r1
 E r2
 E r3
 L r4
 L r5
 L r6
 L r7
 L r8
 G r9
 G r10
 G r11
 G r12
COLUMNS
 x0 obj 1
 x0 r1 1
 x0 r9 1
 x1 obj 1
 x1 r2 1
 x1 r4 1
 x1 r9 1
 x2 obj 1
 x2 r0 1
 x2 r5 1
 x2 r10 1
 x3 obj 1
 x3 r1 1
 x3 r10 1
 x4 obj 1
 x4 r2 1
 x4 r6 1
 x4 r11 1
 x5 obj 1
 x5 r3 1
 x5 r11 1
 x6 obj 2
 x6 r0 1
 x6 r7 1
 x6 r12 1
 x7 obj 2
 x7 r2 1
 x7 r8 1
 x7 r12 1
 x8 obj 2
 x8 r3 1
 x8 r12 1
 M0 'MARKER' 'INTORG'
 x9 r4 -1
 x9 r9 -3
 x10 r5 -1
 x10 r10 -3
 x11 r6 -1
 x11 r11 -3
 x12 r7 -1
 x12 r8 -1
 x12 r12 -3
 M1 'MARKER' 'INTEND'
RHS
 rhs r0 1
 rhs r1 2
 rhs r2 1
 rhs r3 2
BOUNDS
 UP bnd x0 2
 UP bnd x1 1
 UP bnd x2 1
 UP bnd x3 2
 UP bnd x4 1
 UP bnd x5 2
 UP bnd x6 1
 UP bnd x7 1
 UP bnd x8 2
 LO bnd x9 0
 UP bnd x9 1
 LO bnd x10 0
 UP bnd x10 1
 LO bnd x11 0
 UP bnd x11 1
 LO bnd x12 0
 UP bnd x12 1
ENDATA
