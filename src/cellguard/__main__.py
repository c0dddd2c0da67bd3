"""``python -m cellguard`` is the command line."""

from cellguard.faces.cli.entry import main

if __name__ == "__main__":
    main()
