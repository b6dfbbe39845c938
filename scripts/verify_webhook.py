#!/usr/bin/env python3
"""Verifies one delivered webhook as a receiver does: with Python's hmac and a Standard Webhooks library.

    verify_webhook.py --secret SECRET --headers HEADERS.json --body BODY

SECRET is the webhook secret (Base64), HEADERS a JSON object from name to value, BODY the raw bytes of the
request. Prints one line per check. Exit status: 0 if all pass, 1 if one fails, 2 if the arguments are wrong.
"""

import argparse
import base64
import hashlib
import hmac
import json
import pathlib
import sys

from standardwebhooks import Webhook, WebhookVerificationError


def by_hmac(secret: str, headers: dict[str, str], body: bytes) -> str | None:
    """Why `service-signature` is wrong, or None: Base64 of HMAC-SHA256 over the raw body, keyed by the
    decoded secret.
    """
    sent = headers.get("service-signature")
    if sent is None:
        return "there is no header service-signature"
    digest = hmac.new(base64.b64decode(secret, validate=True), body, hashlib.sha256).digest()
    if not hmac.compare_digest(base64.b64encode(digest).decode(), sent):
        return "service-signature does not match the body"
    return None


def by_library(secret: str, headers: dict[str, str], body: bytes) -> str | None:
    """Why a Standard Webhooks library rejects it, or None.

    It also rejects a time more than five minutes away.
    """
    try:
        Webhook("whsec_" + secret).verify(body, headers)
    except WebhookVerificationError as error:
        return str(error)
    return None


def verify(secret: str, headers: dict[str, str], body: bytes) -> dict[str, str | None]:
    """From the name of each check to why it failed, or None. Header names are compared without case."""
    headers = {name.lower(): value for name, value in headers.items()}
    return {
        "hmac": by_hmac(secret, headers, body),
        "standardwebhooks": by_library(secret, headers, body),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--secret", required=True)
    parser.add_argument("--headers", required=True, type=pathlib.Path)
    parser.add_argument("--body", required=True, type=pathlib.Path)
    arguments = parser.parse_args()

    results = verify(arguments.secret, json.loads(arguments.headers.read_text()), arguments.body.read_bytes())
    for check, problem in results.items():
        print(f"{check}: {problem or 'verified'}")
    return 0 if all(problem is None for problem in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
