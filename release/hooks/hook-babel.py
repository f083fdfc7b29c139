"""The data of Babel that the binary needs: its languages are ours, not a thousand."""

from typing import get_args

from PyInstaller.utils.hooks import collect_data_files

from languages.language_names import Language

ours = {part for language in get_args(Language) for part in (language.replace("-", "_"), language[:2])}
datas = collect_data_files(
    "babel", includes=["global.dat", "locale-data/root.dat", *(f"locale-data/{name}.dat" for name in ours)]
)
hiddenimports = ["babel.dates", "babel.numbers", "babel.plural"]  # root.dat names classes of theirs
