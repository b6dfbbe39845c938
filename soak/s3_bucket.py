"""Reads an S3 bucket directly, not through the server under test. Signs by AWS Signature Version 4."""

import collections
import datetime
import hashlib
import hmac
import http.client
import os
import urllib.parse
import xml.etree.ElementTree
from collections.abc import Iterator

PIECE = 1 << 20
EMPTY = hashlib.sha256(b"").hexdigest()


def read_single_object(storage_url: str, prefix: str) -> Iterator[bytes]:
    """The bytes of the only object with this prefix."""
    storage = urllib.parse.urlsplit(storage_url)
    options = urllib.parse.parse_qs(storage.query)
    endpoint, region = urllib.parse.urlsplit(options["endpoint"][0]).netloc, options["region"][0]
    full_prefix = "/".join(part for part in (storage.path.strip("/"), prefix) if part)
    query = urllib.parse.urlencode({"list-type": "2", "prefix": full_prefix}, quote_via=urllib.parse.quote)
    listing = b"".join(get(endpoint, region, f"/{storage.netloc}", query))
    names = [entry.text for entry in xml.etree.ElementTree.fromstring(listing).iter() if entry.tag.endswith("}Key")]
    [name] = names
    yield from get(endpoint, region, f"/{storage.netloc}/{name}", "")


def bytes_by_kind(storage_url: str) -> collections.Counter[str]:
    """Bytes of all complete objects by the first part of their names, such as `source`."""
    storage = urllib.parse.urlsplit(storage_url)
    options = urllib.parse.parse_qs(storage.query)
    endpoint, region = urllib.parse.urlsplit(options["endpoint"][0]).netloc, options["region"][0]
    root = storage.path.strip("/")
    kinds: collections.Counter[str] = collections.Counter()
    query = {"list-type": "2", "prefix": f"{root}/" if root else ""}
    while True:
        text = urllib.parse.urlencode(sorted(query.items()), quote_via=urllib.parse.quote)
        listing = xml.etree.ElementTree.fromstring(b"".join(get(endpoint, region, f"/{storage.netloc}", text)))
        for entry in listing.iterfind("{*}Contents"):
            name = entry.findtext("{*}Key").removeprefix(query["prefix"])
            kinds[name.partition("/")[0]] += int(entry.findtext("{*}Size"))
        if listing.findtext("{*}IsTruncated") != "true":
            return kinds
        query["continuation-token"] = listing.findtext("{*}NextContinuationToken")


def get(host: str, region: str, path: str, query: str) -> Iterator[bytes]:
    now = datetime.datetime.now(datetime.UTC)
    stamp, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
    headers = {"host": host, "x-amz-content-sha256": EMPTY, "x-amz-date": stamp}
    names = ";".join(headers)
    lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
    request = f"GET\n{urllib.parse.quote(path)}\n{query}\n{lines}\n{names}\n{EMPTY}"
    scope = f"{day}/{region}/s3/aws4_request"
    message = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
    key = f"AWS4{os.environ['AWS_SECRET_ACCESS_KEY']}".encode()
    for part in (day, region, "s3", "aws4_request", message):
        key = hmac.digest(key, part.encode(), "sha256")
    credential = f"{os.environ['AWS_ACCESS_KEY_ID']}/{scope}"
    headers["authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={names}, Signature={key.hex()}"
    )
    connection = http.client.HTTPConnection(host, timeout=60)
    connection.request("GET", path + (f"?{query}" if query else ""), headers=headers)
    response = connection.getresponse()
    if response.status != 200:
        raise RuntimeError(f"GET {path}: {response.status} {response.read()[:300]!r}")
    while piece := response.read(PIECE):
        yield piece
    connection.close()
