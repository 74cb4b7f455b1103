"""Opens the studio in the browser: settings → store → studio → page. Spaces, Docker and `python app.py` start here."""

import logging
import sys

from realign.errors import RealignError
from realign.settings import from_environment, quieten


def main() -> int:
    """Serve the page until interrupted; return 2 after one clear sentence where it cannot open."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    for chatty in ("httpx", "alembic"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    quieten()
    try:
        settings = from_environment()
        from realign.store import Store
        from realign.studio import Studio
        from realign.ui import serve

        studio = Studio(settings, Store(settings.database))
        studio.fill_if_empty()
        studio.collect()
        studio.warm_up()
        serve(studio, lambda address: print(f"ReAlign Studio is open at {address}", flush=True))
    except RealignError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
