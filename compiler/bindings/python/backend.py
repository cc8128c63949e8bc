"""Builds the wheel of the package firn for pip (PEP 517): runs `make python`, and packs what it made.

Not setuptools: pip would fetch it for each build, into an environment that does not see the one of the system, and all
that is left to do here is an archive with three files of text. Nothing is downloaded.
"""

import base64
import hashlib
import os
import subprocess
import sys
import sysconfig
import zipfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(FOLDER)))


def _version():
    return subprocess.check_output(["runtime/package/version"], cwd=ROOT, text=True).strip()


def _texts(name, tag):
    with open(os.path.join(FOLDER, "README.md"), encoding="utf-8") as file:
        page = file.read()
    metadata = (
        "Metadata-Version: 2.1\nName: firn\nVersion: %s\nSummary: freezes a training run into one signed plan, and runs it\n"
        "Requires-Python: >=3.11\nRequires-Dist: numpy\nDescription-Content-Type: text/markdown\n\n%s" % (_version(), page)
    )
    wheel = "Wheel-Version: 1.0\nGenerator: firn\nRoot-Is-Purelib: false\nTag: %s\n" % tag
    return {name + "/METADATA": metadata.encode(), name + "/WHEEL": wheel.encode()}


def get_requires_for_build_wheel(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    tag = "cp311-abi3-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
    build = os.path.join(ROOT, os.environ.get("BUILD", "build"))
    made = subprocess.run(["make", "-s", "python", "PYTHON=" + sys.executable], cwd=ROOT, stdout=sys.stderr)
    if made.returncode != 0:
        raise SystemExit("firn: make python has failed; its messages are above (pip install --verbose shows them)")
    package = os.path.join(build, "python", "firn")
    files = {}
    for file in sorted(os.listdir(package)):
        if file.endswith((".py", ".so", ".so.0", ".typed")):
            with open(os.path.join(package, file), "rb") as opened:
                files["firn/" + file] = opened.read()
    information = "firn-%s.dist-info" % _version()
    files.update(_texts(information, tag))
    record = ""
    for file, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += "%s,sha256=%s,%d\n" % (file, digest, len(data))
    files[information + "/RECORD"] = (record + information + "/RECORD,,\n").encode()
    name = "firn-%s-%s.whl" % (_version(), tag)
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as archive:
        for file, data in files.items():
            archive.writestr(file, data)
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit("firn: there is no source package; build from a checkout: pip install ./compiler/bindings/python")
