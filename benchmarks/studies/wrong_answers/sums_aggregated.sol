=obj= 6
assign_3_0 1.0
assign_6_0 1.0
sum4 1.0
sum0 2.0
open_0 1.0
