"""Downloads one wheel from the package index pip is configured for, going on where an earlier try stopped.

Run by xtask as `python3 - --project P --file F --sha256 H --size N --part PATH`. Uses the standard library and pip alone.
Lines on stdout, for xtask:  `index URL`   `from BYTES`   `at BYTES`
Exit codes: 0 the part file has all its bytes; 3 nothing could be received (xtask then asks pip itself);
4 the transfer broke off (what came is kept in the part file); 130 interrupted.
"""

import argparse
import ast
import base64
import html.parser
import json
import os
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
TRIES = 5
CHUNK = 1 << 18
TIMEOUT = 60


class NoLink(Exception):
    """No index could be read, or none of them has the file."""


class BrokenOff(Exception):
    """Bytes came, but not all of them."""


def tell(word, value):
    print(word, value, flush=True)


def pip_settings():
    """pip's own settings, from its files and from PIP_* variables; the more particular one wins."""
    listing = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    ).stdout
    found = {}
    for line in listing.splitlines():
        key, sign, value = line.partition("=")
        section, dot, name = key.rpartition(".")
        rank = {":env:": 3, "download": 2, "global": 1}.get(section, 0)
        if not (sign and dot and rank):
            continue
        try:
            value = str(ast.literal_eval(value))
        except (SyntaxError, ValueError):
            pass
        if rank >= found.get(name, (0, ""))[0]:
            found[name] = (rank, value)
    return {name: value for name, (_, value) in found.items()}


def index_urls(settings):
    if settings.get("no-index", "").lower() in ("1", "true", "yes", "on"):
        raise NoLink("pip is configured with no-index")
    first = settings.get("index-url")
    if not first:
        from pip._internal.models.index import PyPI

        first = PyPI.simple_url
    return [first, *settings.get("extra-index-url", "").split()]


def opener(settings):
    """Trusts what pip trusts: the configured bundle, else the system's and pip's own."""
    bundle = settings.get("cert") or os.environ.get("REQUESTS_CA_BUNDLE")
    context = ssl.create_default_context(cafile=bundle or None)
    if not bundle:
        try:
            from pip._vendor import certifi

            context.load_verify_locations(certifi.where())
        except (ImportError, OSError, ssl.SSLError):
            pass
    handlers = [urllib.request.HTTPSHandler(context=context)]
    if settings.get("proxy"):
        handlers.append(urllib.request.ProxyHandler({"http": settings["proxy"], "https": settings["proxy"]}))
    return urllib.request.build_opener(*handlers)


def request(url, secrets, headers):
    """A request whose `user:password@` went into a header, which is not sent on to another host."""
    parts = urllib.parse.urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    if at:
        name, _, word = user.partition(":")
        pair = urllib.parse.unquote(name) + ":" + urllib.parse.unquote(word)
        secrets[(parts.scheme, host)] = "Basic " + base64.b64encode(pair.encode()).decode()
    made = urllib.request.Request(urllib.parse.urlunsplit(parts._replace(netloc=host)), headers=headers)
    if (parts.scheme, host) in secrets:
        made.add_unredirected_header("Authorization", secrets[(parts.scheme, host)])
    return made


class Anchors(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.links = []

    def handle_starttag(self, tag, attrs):
        href = dict(attrs).get("href")
        if tag == "a" and href:
            address, _, fragment = href.partition("#")
            sha256 = urllib.parse.parse_qs(fragment).get("sha256", [""])[0]
            name = urllib.parse.unquote(address.partition("?")[0].rsplit("/", 1)[-1])
            self.links.append((name, sha256, address))


def links(kind, text):
    """(file name, sha256 or "", address) of every file on a project's page, JSON or HTML."""
    if "json" in kind:
        return [(f["filename"], f.get("hashes", {}).get("sha256", ""), f["url"]) for f in json.loads(text)["files"]]
    anchors = Anchors()
    anchors.feed(text)
    return anchors.links


def choose(found, name, sha256):
    """The link with the pinned hash; else one of the right name that says nothing about its hash."""
    for _, digest, address in found:
        if digest.lower() == sha256:
            return address
    for candidate, digest, address in found:
        if candidate == name and not digest:
            return address
    return None


def find_link(indexes, wanted, opened, secrets):
    reasons = []
    for index in indexes:
        page = index.rstrip("/") + "/" + wanted.project + "/"
        shown = request(page, secrets, {}).full_url
        try:
            with opened(request(page, secrets, {"Accept": ACCEPT}), timeout=TIMEOUT) as answer:
                kind, final = answer.headers.get("Content-Type", ""), answer.geturl()
                found = links(kind, answer.read().decode("utf-8", "replace"))
        except (OSError, ValueError, KeyError) as error:
            reasons.append(f"{shown}: {error}")
            continue
        address = choose(found, wanted.file, wanted.sha256)
        if address:
            tell("index", shown)
            return urllib.parse.urljoin(final, address)
        reasons.append(f"{shown}: lists {len(found)} files, and not {wanted.file}")
    raise NoLink("; ".join(reasons))


def starts_at(answer):
    """The first byte of the answer: what Content-Range says of a 206, else 0."""
    if answer.status != 206:
        return 0
    span = answer.headers.get("Content-Range", "").partition(" ")[2]
    return int(span.partition("-")[0])


def receive(url, wanted, opened, secrets):
    """One try: asks for what is missing and appends it."""
    have = os.path.getsize(wanted.part) if os.path.exists(wanted.part) else 0
    # Without `identity` a server may compress, and offsets would mean something else.
    headers = {"Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    with opened(request(url, secrets, headers), timeout=TIMEOUT) as answer:
        begin = starts_at(answer)
        if begin not in (0, have):
            raise ValueError(f"asked for the bytes from {have}, got those from {begin}")
        tell("from", begin)
        with open(wanted.part, "r+b" if begin else "wb") as part:
            part.seek(begin)
            copy(answer, part, begin, wanted.size)


def copy(answer, part, at, size):
    told = time.monotonic()
    while chunk := answer.read(CHUNK):
        at += len(chunk)
        if at > size:
            raise ValueError(f"the file is longer than the {size} bytes expected")
        part.write(chunk)
        if time.monotonic() - told >= 0.2:
            told = time.monotonic()
            # Flushed first: what was told of is there after a kill.
            part.flush()
            tell("at", at)
    part.flush()
    tell("at", at)


def download(url, wanted, opened, secrets):
    """Tries again, from where it stopped, as long as tries bring bytes."""
    failures = 0
    while True:
        before = os.path.getsize(wanted.part) if os.path.exists(wanted.part) else 0
        reason = "the connection was closed early"
        try:
            receive(url, wanted, opened, secrets)
        except urllib.error.HTTPError as error:
            if error.code == 416:
                os.remove(wanted.part)
            elif error.code < 500:
                raise NoLink(f"{error.code} {error.reason}") from error
            reason = f"{error.code} {error.reason}"
        except BrokenPipeError:
            raise
        except (OSError, ValueError, EOFError) as error:
            reason = str(error) or type(error).__name__
        except Exception as error:  # http.client's errors share no base with OSError
            reason = f"{type(error).__name__}: {error}"
        after = os.path.getsize(wanted.part) if os.path.exists(wanted.part) else 0
        if after == wanted.size:
            return
        failures = 1 if after > before else failures + 1
        if failures >= TRIES:
            raise (BrokenOff if after else NoLink)(reason)
        time.sleep(wanted.pause * 2 ** (failures - 1))


def main():
    parser = argparse.ArgumentParser()
    for name in ("project", "file", "sha256", "part"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--index", help="instead of the one pip is configured for")
    parser.add_argument("--pause", type=float, default=1.0, help="seconds before the second try; doubled each time")
    wanted = parser.parse_args()
    secrets = {}
    try:
        settings = pip_settings()
        opened = opener(settings).open
        indexes = [wanted.index] if wanted.index else index_urls(settings)
        url = find_link(indexes, wanted, opened, secrets)
        download(url, wanted, opened, secrets)
    except NoLink as error:
        print(error, file=sys.stderr)
        return 3
    except BrokenOff as error:
        print(error, file=sys.stderr)
        return 4
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # xtask is gone; keep what came and be quiet, also about the last flush of stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 4
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
