"""The library that decodes sounds, beside the module that says where it is."""

from PyInstaller.utils.hooks import collect_dynamic_libs

binaries = collect_dynamic_libs("_soundfile_data")
