=obj= 14
sum10 1.0
sum24 1.0
assign_7_6 1.0
