"""Tests of `verify_webhook.py`: it accepts valid signatures and rejects all others."""

import base64
import datetime
import hashlib
import hmac
import unittest

from standardwebhooks import Webhook

from verify_webhook import verify

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


class VerifyWebhook(unittest.TestCase):
    def problems(self, headers: dict[str, str], body: bytes = BODY, secret: str = SECRET) -> list[str]:
        return [check for check, problem in verify(secret, headers, body).items() if problem is not None]

    def test_valid_signature_is_accepted_by_both(self):
        self.assertEqual(self.problems(signed(BODY)), [])

    def test_changed_body_is_rejected_by_both(self):
        self.assertEqual(self.problems(signed(BODY), body=BODY + b" "), ["hmac", "standardwebhooks"])

    def test_wrong_secret_is_rejected_by_both(self):
        other = base64.b64encode(bytes(32)).decode()
        self.assertEqual(self.problems(signed(BODY), secret=other), ["hmac", "standardwebhooks"])

    def test_missing_header_is_rejected(self):
        for name, expected in [("Service-Signature", "hmac"), ("webhook-signature", "standardwebhooks")]:
            headers = signed(BODY)
            del headers[name]
            self.assertEqual(self.problems(headers), [expected])

    def test_expired_signature_is_rejected_by_the_library(self):
        hour_ago = datetime.datetime.now(tz=datetime.timezone.utc) - datetime.timedelta(hours=1)
        self.assertEqual(self.problems(signed(BODY, hour_ago)), ["standardwebhooks"])


if __name__ == "__main__":
    unittest.main()
