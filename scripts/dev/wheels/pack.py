"""Packs a folder as a wheel: usage pack.py OUT METADATA TAG TREE [DIST_INFO ...]

TREE is laid out as under a prefix: its bin/ goes to the environment's scripts, the rest to its
data.
METADATA is the file of that name; each DIST_INFO, FILE=NAME, is a file of the dist-info folder.
"""
import base64
import hashlib
import os
import sys
import zipfile


def packed_time():
    """The time of all entries: zip's own begins in 1980."""
    import time
    return time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())), 315532800))[:6]


def under(tree):
    """Every file under tree, as a path and its name from there, in a fixed order."""
    for folder, folders, files in os.walk(tree):
        folders.sort()
        for name in sorted(files):
            path = os.path.join(folder, name)
            yield path, os.path.relpath(path, tree)


class Wheel:
    def __init__(self, path, time):
        self.zip, self.record, self.time = zipfile.ZipFile(path, "w"), [], time

    def add(self, name, data, mode=0o644):
        entry = zipfile.ZipInfo(name, self.time)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100000 | mode) << 16
        self.zip.writestr(entry, data, compresslevel=9)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.record.append("%s,sha256=%s,%d" % (name, digest, len(data)))

    def close(self, name):
        record = "\n".join(self.record + [name + ",,", ""])
        self.add(name, record.encode())
        self.zip.close()


def read(path):
    with open(path, "rb") as f:
        return f.read()


def main(out, metadata, tag, tree, *dist_info):
    head = read(metadata).decode().split("\n\n")[0]
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    base = "%s-%s" % (fields["Name"].replace("-", "_"), fields["Version"])
    path = os.path.join(out, "%s-%s.whl" % (base, tag))
    wheel = Wheel(path + ".part", packed_time())
    for file, name in under(tree):
        kind = "scripts" if name.startswith("bin/") else "data"
        inside = name[len("bin/"):] if kind == "scripts" else name
        wheel.add("%s.data/%s/%s" % (base, kind, inside), read(file), os.stat(file).st_mode & 0o777)
    for item in dist_info:
        file, name = item.split("=", 1)
        wheel.add("%s.dist-info/%s" % (base, name), read(file))
    wheel.add(base + ".dist-info/METADATA", read(metadata))
    wheel.add(base + ".dist-info/WHEEL", (
        "Wheel-Version: 1.0\nGenerator: gpush\nRoot-Is-Purelib: false\nTag: %s\n" % tag).encode())
    wheel.close(base + ".dist-info/RECORD")
    os.replace(path + ".part", path)
    print(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
