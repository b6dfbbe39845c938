"""The judge itself: it must accept what is right and refuse everything else."""

import base64
import datetime
import hashlib
import hmac
import unittest

from standardwebhooks import Webhook

from verify_webhook import judge

SECRET = base64.b64encode(bytes(range(32))).decode()
BODY = '{"type":"video.media.ready","title":"Füchse"}'.encode()


def signed(body: bytes, at: datetime.datetime | None = None) -> dict[str, str]:
    at = at or datetime.datetime.now(tz=datetime.timezone.utc)
    digest = hmac.new(bytes(range(32)), body, hashlib.sha256).digest()
    return {
        "Service-Signature": base64.b64encode(digest).decode(),
        "webhook-id": "0197",
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook("whsec_" + SECRET).sign("0197", at, body.decode()),
    }


class Judge(unittest.TestCase):
    def problems(self, headers: dict[str, str], body: bytes = BODY, secret: str = SECRET) -> list[str]:
        return [check for check, problem in judge(secret, headers, body).items() if problem is not None]

    def test_what_was_signed_is_verified_by_both(self):
        self.assertEqual(self.problems(signed(BODY)), [])

    def test_another_body_is_refused_by_both(self):
        self.assertEqual(self.problems(signed(BODY), body=BODY + b" "), ["hmac", "standardwebhooks"])

    def test_another_secret_is_refused_by_both(self):
        other = base64.b64encode(bytes(32)).decode()
        self.assertEqual(self.problems(signed(BODY), secret=other), ["hmac", "standardwebhooks"])

    def test_a_missing_header_is_refused(self):
        for name, expected in [("Service-Signature", "hmac"), ("webhook-signature", "standardwebhooks")]:
            headers = signed(BODY)
            del headers[name]
            self.assertEqual(self.problems(headers), [expected])

    def test_a_signature_of_long_ago_is_refused_by_the_library(self):
        hour_ago = datetime.datetime.now(tz=datetime.timezone.utc) - datetime.timedelta(hours=1)
        self.assertEqual(self.problems(signed(BODY, hour_ago)), ["standardwebhooks"])


if __name__ == "__main__":
    unittest.main()
