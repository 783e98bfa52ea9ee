"""``python -m fairshap`` is the command ``fairshap``."""

from fairshap.cli import main

if __name__ == "__main__":
    main()
