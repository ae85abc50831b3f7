* HiGHS 1.15.1 answers 8, marked optimal, unless presolve or its aggregator is off: what is left of a t-closeness
* problem of 8 rows whose sums have names. Found by kanon-milp bench fuzz --solver highs --option presolve_rule_off=0 --seed 5
* known optimum: 6
NAME sums_aggregated FREE
ROWS
 N obj
 E c1
 L t_closeness_above_hull_0_1_1
 L t_closeness_below_0_0
 L t_closeness_above_hull_0_1_0
 L linked_3_0
 E placed_6
 L linked_6_0
 L t_closeness_above_hull_0_0_0
 L t_closeness_below_hull_0_0_0
 E placed_3
COLUMNS
 M0 'MARKER' 'INTORG'
 assign_3_0 obj 1
 assign_3_0 t_closeness_above_hull_0_1_1 -5
 assign_3_0 t_closeness_below_0_0 -19
 assign_3_0 t_closeness_above_hull_0_1_0 -1
 assign_3_0 linked_3_0 1
 assign_3_0 t_closeness_above_hull_0_0_0 1
 assign_3_0 t_closeness_below_hull_0_0_0 -1
 assign_3_0 placed_3 1
 assign_6_0 obj 1
 assign_6_0 c1 1
 assign_6_0 t_closeness_above_hull_0_1_1 -11
 assign_6_0 t_closeness_above_hull_0_1_0 -2
 assign_6_0 placed_6 1
 assign_6_0 linked_6_0 1
 assign_6_1 obj 2
 assign_6_1 placed_6 1
 M1 'MARKER' 'INTEND'
 sum4 c1 1
 M2 'MARKER' 'INTORG'
 assign_3_1 obj 2
 assign_3_1 placed_3 1
 M3 'MARKER' 'INTEND'
 sum0 c1 -1
 sum0 t_closeness_above_hull_0_1_1 6
 sum0 t_closeness_below_0_0 1
 sum0 t_closeness_above_hull_0_1_0 1
 sum0 t_closeness_above_hull_0_0_0 -1
 M4 'MARKER' 'INTORG'
 open_0 t_closeness_above_hull_0_1_1 1
 open_0 t_closeness_above_hull_0_1_0 1
 open_0 linked_3_0 -1
 open_0 linked_6_0 -1
 open_0 t_closeness_above_hull_0_0_0 1
 open_0 t_closeness_below_hull_0_0_0 1
 M5 'MARKER' 'INTEND'
RHS
 rhs obj -4
 rhs placed_6 1
 rhs placed_3 1
BOUNDS
 LO bnd assign_3_0 0
 UP bnd assign_3_0 1
 LO bnd assign_6_0 0
 UP bnd assign_6_0 1
 LO bnd assign_6_1 0
 UP bnd assign_6_1 1
 UP bnd sum4 2
 LO bnd assign_3_1 0
 UP bnd assign_3_1 1
 UP bnd sum0 3
 LO bnd open_0 0
 UP bnd open_0 1
ENDATA
