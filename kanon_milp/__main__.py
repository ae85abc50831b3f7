"""`python -m kanon_milp` is the console script."""

from kanon_milp.cli import main

if __name__ == "__main__":
    main()
