* HiGHS 1.15.1 says infeasible, unless presolve or its aggregator is off: what is left of a problem of 6 rows, k = 2
* or more and p = 2, whose sums have names. Found by kanon-milp bench fuzz --solver highs --option presolve_rule_off=0 --seed 2
* known optimum: 16
NAME sums_infeasible FREE
ROWS
 N obj
 E c1
 L k_anonymity_size_0
 L p_sensitivity_occurs_2_0
 E c4
 E c5
 L p_sensitivity_occurs_2_2
 L linked_3_0
 E c8
 L linked_0_0
 L p_sensitivity_occurs_2_3
 E sum2
 E sum3
 L p_sensitivity_different_2
 L k_anonymity_size_2
 L linked_1_0
 E sum7
 E c17
COLUMNS
 M0 'MARKER' 'INTORG'
 open_0 k_anonymity_size_0 4
 open_0 linked_3_0 -1
 open_0 linked_0_0 -1
 open_0 linked_1_0 -1
 p_sensitivity_present_2_0 c1 1
 p_sensitivity_present_2_0 p_sensitivity_occurs_2_0 1
 p_sensitivity_present_2_2 c1 1
 p_sensitivity_present_2_2 p_sensitivity_occurs_2_2 1
 M1 'MARKER' 'INTEND'
 assign_0_2 obj 4
 assign_0_2 p_sensitivity_occurs_2_0 -1
 assign_0_2 c5 1
 assign_0_2 sum7 1
 sum4 c1 -1
 sum4 p_sensitivity_different_2 -1
 assign_1_2 obj 4
 assign_1_2 c5 1
 assign_1_2 p_sensitivity_occurs_2_3 -1
 assign_1_2 sum2 1
 sum0 k_anonymity_size_2 -1
 sum0 c17 -1
 sum10 c5 1
 sum10 p_sensitivity_occurs_2_2 -1
 sum10 c8 -1
 M2 'MARKER' 'INTORG'
 p_sensitivity_present_2_3 c1 1
 p_sensitivity_present_2_3 p_sensitivity_occurs_2_3 1
 M3 'MARKER' 'INTEND'
 assign_2_2 obj 4
 assign_2_2 c8 1
 sum9 k_anonymity_size_0 -1
 sum9 c4 -1
 assign_3_2 obj 4
 assign_3_2 c8 1
 assign_3_2 sum3 1
 assign_5_2 obj 4
 assign_5_2 c17 1
 assign_3_0 obj 3
 assign_3_0 linked_3_0 1
 assign_3_0 sum3 1
 assign_1_0 obj 3
 assign_1_0 c4 1
 assign_1_0 sum2 1
 assign_1_0 linked_1_0 1
 assign_0_0 obj 3
 assign_0_0 c4 1
 assign_0_0 linked_0_0 1
 assign_0_0 sum7 1
 sum1 c5 -1
 sum1 k_anonymity_size_2 -1
RHS
 rhs obj -4
 rhs c1 -1
 rhs k_anonymity_size_0 2
 rhs sum2 1
 rhs sum3 1
 rhs p_sensitivity_different_2 -2
 rhs k_anonymity_size_2 -4
 rhs sum7 1
 rhs c17 -1
BOUNDS
 LO bnd open_0 0
 UP bnd open_0 1
 LO bnd p_sensitivity_present_2_0 0
 UP bnd p_sensitivity_present_2_0 1
 LO bnd p_sensitivity_present_2_2 0
 UP bnd p_sensitivity_present_2_2 1
 UP bnd assign_0_2 1
 UP bnd sum4 4
 UP bnd assign_1_2 1
 UP bnd sum0 2
 UP bnd sum10 2
 LO bnd p_sensitivity_present_2_3 0
 UP bnd p_sensitivity_present_2_3 1
 UP bnd assign_2_2 1
 UP bnd sum9 2
 UP bnd assign_3_2 1
 UP bnd assign_5_2 1
 UP bnd assign_3_0 1
 UP bnd assign_1_0 1
 UP bnd assign_0_0 1
 UP bnd sum1 4
ENDATA
