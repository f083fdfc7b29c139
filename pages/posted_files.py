"""Files in posted forms: each is uploaded first, and then the form names it by its digest.

The form also names the files that the listing has, and those that came with a form that was refused: a box
beside each keeps it. So a form with files takes the same way as one without.
"""

import re
from collections.abc import Mapping

from msgspec.structs import replace

from actions.uploads import Upload, upload
from core.failures import Unavailable
from forms.file_fields import DIGEST, FileRef
from forms.rules import Size
from kinds.kind import texts_of
from languages.refusals import Invalid, Refusal
from languages.said import Fault
from pages.page import PageCall
from ratelimit.bucket import TooManyRequests
from web.form_posts import FormPost

Failure = Refusal | Unavailable | TooManyRequests


async def uploaded(page: PageCall, form: FormPost) -> tuple[FormPost, Failure | None]:
    """Upload the files of a form. Return the form with their digests, and why one was refused."""
    kind, faults = page.call.kind, dict[str, Fault]()
    rules = kind.file_rules if kind is not None else {}
    if kind is None or form.files.keys() - rules.keys():
        return form, Refusal("unreadable_form")
    for name, contents in form.files.items():
        size = kind.fields[name].note(Size)
        most = size.most if size is not None else 1
        if len(contents) > most:
            faults[name] = Fault("list_too_long", {"most": most, "given": len(contents)})
            continue
        for content in contents:
            call = replace(page.call, content=content)
            try:
                answer = await upload(call, Upload(user=page.person.id, kind=kind.plural, field=name))
            except Invalid as error:
                faults |= error.faults
            except (Refusal, Unavailable, TooManyRequests) as error:
                return form, error
            else:
                form = form.with_text(name, answer.file.digest)
    return form, Invalid(faults) if faults else None


async def files_in(page: PageCall, values: Mapping[str, object]) -> Mapping[str, FileRef]:
    """Return the files that the values of a form name, by their digests."""
    kind = page.call.kind
    names = kind.file_rules if kind is not None else ()
    texts = {text for name in names for text in texts_of(_texts(values.get(name)))}
    digests = {text for text in texts if re.fullmatch(DIGEST, text)}
    files = {digest: await page.call.tools.files.ref(digest) for digest in digests}
    return {digest: file for digest, file in files.items() if file is not None}


def _texts(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value
