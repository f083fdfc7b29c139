"""The numbers of a deployment that its API's description says. No logic."""

from openapi.deployment import Deployment, Window
from settings.model import FailuresLimitSettings, Settings, StatsLimitSettings, VotersLimitSettings


def deployment(settings: Settings) -> Deployment:
    limits, webhooks = settings.limits, settings.webhooks
    return Deployment(
        stats=_window(limits.stats),
        voters=_window(limits.voters),
        failures=_window(limits.failures),
        max_difference=settings.stats.max_difference,
        vote_window_seconds=settings.votes.window_seconds,
        vote_cooldown_seconds=settings.votes.cooldown_seconds,
        keys_per_listing=settings.keys.per_listing,
        max_body_bytes=settings.server.max_body_bytes,
        max_header_bytes=settings.server.max_header_bytes,
        webhook_timeout_seconds=webhooks.timeout_seconds,
        webhook_retries=webhooks.retries,
        webhook_retry_seconds=webhooks.retry_delay_seconds,
        webhook_suspend_after=webhooks.suspend_after,
        webhook_kept_seconds=webhooks.kept_seconds,
    )


def _window(limit: StatsLimitSettings | VotersLimitSettings | FailuresLimitSettings) -> Window:
    return Window(limit.requests, limit.window_seconds)
