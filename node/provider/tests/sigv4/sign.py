"""Signs the requests that come as JSON on the standard input, one object a line, and prints the headers that that adds."""

import datetime
import json
import sys

import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

for line in sys.stdin:
    case = json.loads(line)
    now = datetime.datetime.fromtimestamp(case["now"], datetime.timezone.utc)
    botocore.auth.get_current_datetime = lambda remove_tzinfo=True: now.replace(tzinfo=None)
    request = AWSRequest(
        method=case["method"],
        url=f"https://{case['headers']['host']}{case['path']}",
        headers=dict(case["headers"]),
        data=bytes.fromhex(case["body"]),
    )
    credentials = Credentials(case["id"], case["secret"], case["token"])
    botocore.auth.SigV4Auth(credentials, "bedrock", case["region"]).add_auth(request)
    added = {name.lower(): value for name, value in request.headers.items()}
    print(json.dumps({name: added[name] for name in added if name not in case["headers"]}))
