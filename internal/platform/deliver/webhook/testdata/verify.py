"""Verifies requests with the library of Standard Webhooks.

Each line of standard input is an object with secret, headers and body, all texts.
Each line of the output is ok, or the reason.
"""

import json
import sys

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

for line in sys.stdin:
    request = json.loads(line)
    try:
        Webhook(request["secret"]).verify(request["body"], request["headers"], json_parse=False)
        print("ok")
    except WebhookVerificationError as err:
        print(err)
