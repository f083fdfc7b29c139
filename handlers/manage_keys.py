"""Management of a bot's API keys. Law: a key's value is in one answer only, the one that made it."""

from handlers.key_views import IssuedKey, KeyList, RotatedKey, key_view
from handlers.manage import ManageContext, bot_ref
from handlers.reply import Reply, success
from handlers.request import Request
from listings.forms import KeyName, Rotation, read
from listings.keys import KEY_BYTES, NewKey, delete_key, issue_key, key_value, rotate_key
from listings.rules import listing_of


class ManageKeys:
    def __init__(self, context: ManageContext) -> None:
        self._context = context
        self._state = context.ledger.state

    async def issue(self, request: Request) -> Reply:
        context, ref = self._context, bot_ref(request)
        listing_of(self._state, ref)
        form = read(KeyName, request.json_object())
        value, key_id = key_value(context.random(KEY_BYTES)), context.new_id()
        events = issue_key(
            self._state,
            ref,
            NewKey(key_id, form.name, context.digester.digest(value)),
            now_ms=context.clock.now_ms(),
            keys_per_listing=context.keys_per_listing,
            by=request.by,
        )
        return await context.commit(
            events,
            lambda: success(IssuedKey(id=key_id, name=form.name, key=value, hint=context.hint(ref)), 201),
        )

    def index(self, request: Request) -> Reply:
        listing = listing_of(self._state, bot_ref(request))
        now_ms = self._context.clock.now_ms()
        return success(KeyList(keys=tuple(key_view(key, now_ms) for key in listing.keys)))

    async def rotate(self, request: Request) -> Reply:
        context, ref, key_id = self._context, bot_ref(request), request.params[1]
        listing_of(self._state, ref)
        form = read(Rotation, request.json_object())
        value = key_value(context.random(KEY_BYTES))
        events = rotate_key(
            self._state,
            ref,
            key_id,
            digest=context.digester.digest(value),
            overlap_seconds=form.overlap_seconds,
            now_ms=context.clock.now_ms(),
            by=request.by,
        )
        return await context.commit(events, lambda: success(RotatedKey(id=key_id, key=value)))

    async def delete(self, request: Request) -> Reply:
        ref, now_ms = bot_ref(request), self._context.clock.now_ms()
        events = delete_key(self._state, ref, request.params[1], now_ms, by=request.by)
        return await self._context.commit(events)
