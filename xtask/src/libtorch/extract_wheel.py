"""Takes the named files and folders out of a wheel: `python3 - WHEEL DEST FROM=TO…`, where `FROM/=TO/` means a folder.

Run by xtask. An entry that the wheel does not have, or a name that leaves DEST, is an error.
"""

import os
import shutil
import sys
import zipfile


def target(name, source, to):
    if source.endswith("/"):
        return to + name[len(source):] if name.startswith(source) else None
    return to if name == source else None


def main():
    wheel, dest = sys.argv[1:3]
    rules = [rule.split("=", 1) for rule in sys.argv[3:]]
    taken = dict.fromkeys((source for source, _ in rules), 0)
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            for source, to in rules:
                path = target(entry.filename, source, to)
                if path is None or entry.is_dir():
                    continue
                if ".." in path.split("/"):
                    return f"{entry.filename} would be extracted outside of the folder"
                full = os.path.join(dest, path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with archive.open(entry) as packed, open(full, "wb") as out:
                    shutil.copyfileobj(packed, out, 1 << 20)
                taken[source] += 1
    missing = [source for source, count in taken.items() if count == 0]
    return f"it has no {', '.join(missing)}" if missing else 0


if __name__ == "__main__":
    sys.exit(main())
