"""`python -m realign`."""

from realign.cli import main

if __name__ == "__main__":
    main()
