"""``python -m symflow`` is the command line."""

from symflow.cli import main

if __name__ == "__main__":
    main(prog_name="python -m symflow")
