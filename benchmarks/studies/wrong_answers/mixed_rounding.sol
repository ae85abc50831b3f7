=obj= 9
x0 4.5
