* HiGHS 1.15.1 answers 16, marked optimal, unless presolve is off: what is left of a t-closeness problem of 8 rows whose
* sums have names. Found by kanon-milp bench fuzz --solver highs --option presolve_rule_off=0 --seed 4
* known optimum: 14
NAME named_sums FREE
ROWS
 N obj
 L smallest_size_6
 E c2
 E c3
 L t_closeness_below_6_0
COLUMNS
 sum10 smallest_size_6 -1
 sum10 c3 -1
 sum10 t_closeness_below_6_0 -5
 sum24 smallest_size_6 -1
 sum24 c2 -1
 sum24 t_closeness_below_6_0 1
 M0 'MARKER' 'INTORG'
 assign_7_6 obj 2
 assign_7_6 c3 1
 assign_4_6 obj 2
 assign_4_6 c3 1
 assign_5_6 obj 2
 assign_5_6 c2 1
 M1 'MARKER' 'INTEND'
RHS
 rhs obj -12
 rhs smallest_size_6 -2
 rhs c2 -1
BOUNDS
 UP bnd sum10 2
 UP bnd sum24 2
 LO bnd assign_7_6 0
 UP bnd assign_7_6 1
 LO bnd assign_4_6 0
 UP bnd assign_4_6 1
 LO bnd assign_5_6 0
 UP bnd assign_5_6 1
ENDATA
