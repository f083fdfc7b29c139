"""Files of listings: uploads, and the files that a form names.

An upload names the field that the file is for: the rules of that field say what the decoder makes of it. The
decoder reads it in a process of its own, and gives back a clean file with its facts. A form then names the
file by its digest, and the action puts the facts there. Invariant: no client says the facts of a file.
"""

from typing import Annotated, TypeVar

from msgspec.structs import replace

from actions.action import Access, Action, Call, Command, Option
from actions.views import Success, described
from forms.fields import Form, Snowflake
from forms.file_fields import NO_SUCH_FILE, FileRef, Files
from forms.rules import About
from kinds.kind import ListingEdit, texts_of
from kinds.registry import BY_PLURAL, KINDS
from languages.refusals import Invalid
from languages.said import Fault
from people.quarantine import refuse_quarantined

E = TypeVar("E", bound=ListingEdit)


class Upload(Form, frozen=True):
    """The query of an upload."""

    user: Annotated[Snowflake, About("The user in whose name the file is uploaded.")]
    kind: Annotated[
        str, About("The kind of listing that the file is for, by its name in paths.", KINDS[0].plural)
    ]
    field: Annotated[str, About("The field of the profile that the file is for.", "banner")]


UploadedFile = Annotated[FileRef, described("The file with its facts. Forms name it by its `digest`.")]


class FileAnswer(Success, frozen=True):
    """A file that was uploaded."""

    file: UploadedFile


async def upload(call: Call, form: Upload) -> FileAnswer:
    """Read and keep a file, unless the user may not submit listings."""
    kind = BY_PLURAL.get(form.kind)
    if kind is None or form.field not in kind.file_rules:
        raise Invalid({"field": Fault("no_field_of_files")})
    rules, tools = kind.file_rules[form.field], call.tools
    refuse_quarantined(call.state, form.user, "submit", call.now_ms)
    tools.count_upload(form.user)
    try:
        decoded = await tools.decode(call.content, rules)
        call.rechecked()
        file = await tools.files.put(decoded.content, decoded.file, form.user)
    except Invalid as error:
        (fault,) = error.faults.values()
        raise Invalid({form.field: fault}) from None
    return FileAnswer(file=file)


async def with_files(call: Call, form: E) -> tuple[Call, E]:
    """Return the form with the files that it names, and the call to go on with. Raises Invalid."""
    kind, faults, found = call.listing_kind, dict[str, Fault](), dict[str, object]()
    if not kind.has("files"):
        return call, form
    for name, rules in kind.file_rules.items():
        value = getattr(form, name)
        files = [await _file(call, digest, rules) for digest in texts_of(value)]
        is_list = isinstance(value, tuple)
        for number, file in enumerate(files):
            if isinstance(file, Fault):
                faults[f"{name}.{number}" if is_list else name] = file
        found[name] = tuple(files) if is_list else next(iter(files), None)
    if faults:
        raise Invalid(faults)
    return call.rechecked(), replace(form, **found)


async def _file(call: Call, digest: str, rules: Files) -> FileRef | Fault:
    file = await call.tools.files.ref(digest)
    return (rules.fault(file) or file) if file is not None else NO_SUCH_FILE


UPLOAD = Action(
    name="uploadFile",
    run=upload,
    access=Access(unless="submit"),
    route="POST /manage/files",
    takes_file=True,
    summary="Upload a file",
    about=(
        "The body is the file itself. Its type is read from its content, whatever its `Content-Type` says. A "
        "picture is drawn again in the size that the field takes, and everything else in the file is left "
        "out. A submission or an edit then names the file by its digest. A file that no listing names is "
        "removed after an hour."
    ),
    outcome="The file.",
    refuses=("invalid_file", "file_not_read", "quarantined", "upload_too_large"),
    status=201,
    command=Command(
        "files upload",
        options={
            "user": Option("--user", needed=True, help="User in whose name the file is uploaded."),
            "kind": Option("--kind", needed=True, help="Kind of listing that the file is for."),
            "field": Option("--field", needed=True, help="Field of the profile that the file is for."),
        },
    ),
)
FILE_ACTIONS = (UPLOAD,)
