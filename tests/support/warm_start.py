"""What every start works out, done once: processes that are forked off this one have it.

The values are those of a start with default settings. Another start works out its own.
"""

import gc
import os

from gateway.api import deployment
from openapi.document import openapi_reply
from openapi.page import docs_reply
from outbound.client import client_tls
from settings.model import Settings

described = deployment(Settings())
openapi_reply(described)
docs_reply(described)
client_tls(os.environ.get("SSL_CERT_FILE"))
# What is here stays. No process looks it over again when it collects garbage.
gc.collect()
gc.freeze()
