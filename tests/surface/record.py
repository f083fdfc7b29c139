"""Record what users see, into a folder: `make surface OUT=FOLDER`.

    openapi.json        the description of the API
    help/               `--help` of each command
    pages/              the pages of one scene, in each language, with their JSON
    forms/              forms that are refused, in each language
    answers/            the answers to generated bodies; `bodies/` has the bodies by their hashes

Two records of one commit are equal. A record takes about a minute on two cores.
"""

import shutil
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import click

from tests.surface.answers import FAMILIES, record_family
from tests.surface.commands import record_help
from tests.surface.pages import record_pages

BODIES = 40_000


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--bodies", default=BODIES, help="The number of generated bodies.")
def record(folder: Path, bodies: int) -> None:
    """Write the record into FOLDER, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    record_help(folder / "help")
    each = bodies // sum(family.share for family in FAMILIES.values())
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        work = [pool.submit(record_pages, folder)]
        work += [
            pool.submit(record_family, folder, name, family.share * each) for name, family in FAMILIES.items()
        ]
        for done in work:
            done.result()


if __name__ == "__main__":
    record()
