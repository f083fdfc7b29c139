"""What tests of people share."""

from people.user_sessions import SessionTerms, Terms
from tests.support.sample_rows import DAY_MS, HOUR_MS

TERMS = Terms(SessionTerms(14 * DAY_MS, 90 * DAY_MS), SessionTerms(12 * HOUR_MS, 7 * DAY_MS))
