"""Values that every start computes, computed once here: processes forked off this one have them.

They belong to a start with default settings. A start with other settings computes its own.
"""

import gc
import os

from gateway.api import deployment
from openapi.document import openapi_reply
from outbound.client import client_tls
from settings.model import Settings
from web.static_files import read_static_files

openapi_reply(deployment(Settings()))
read_static_files()
client_tls(os.environ.get("SSL_CERT_FILE"))
# All of this stays in memory, so the garbage collector of a forked process need not look through it.
gc.collect()
gc.freeze()
