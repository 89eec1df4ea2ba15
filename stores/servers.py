"""Servers that others wrote: how each is started and stopped, and what it does in its own way.

What a server can't do is said here with its reason, and a test leaves out just that.
"""

import atexit
import os
from pathlib import Path
import shutil
import signal
import socket
import subprocess
import sys
import time

import boto3
from botocore.config import Config

ROOT = Path(__file__).resolve().parent.parent
# Files of the servers and of the jobs: removed before and after.
FILES = ROOT / "target" / "stores"
KEY_ID, SECRET = "stores", "stores-secret"
BUCKET = "bucket-1"
START_SECONDS_MAX = 60


class Server:
    """A running server with one bucket, and a client of it that isn't ours."""

    name = ""
    # None, or why the server can't.
    lists_no_uploads = None
    checks_no_credentials = None
    makes_missing_buckets = None
    takes_few_keys = None
    fails_at_directories = None

    def command(self, port):
        raise NotImplementedError

    def variables(self):
        return {}

    def __init__(self):
        self.files = FILES / self.name
        shutil.rmtree(self.files, ignore_errors=True)
        (self.files / "data").mkdir(parents=True)
        (self.files / "temporary").mkdir()
        port = free_port()
        self.endpoint = f"http://127.0.0.1:{port}"
        environment = {**os.environ, **self.variables(), "TMPDIR": str(self.files / "temporary")}
        with open(self.files / "log", "w") as log:
            # A group of its own: who interrupts the tests stops them, and they stop the server.
            self.process = subprocess.Popen(
                self.command(port), stdout=log, stderr=log, env=environment, start_new_session=True
            )
        atexit.register(self.stop)
        self.wait(port)
        self.client = boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name="us-east-1",
            aws_access_key_id=KEY_ID,
            aws_secret_access_key=SECRET,
            # s3s-fs keeps the checksum of the object that was there before an upload.
            config=Config(
                s3={"addressing_style": "path"},
                retries={"max_attempts": 1},
                response_checksum_validation="when_required",
            ),
        )
        self.client.create_bucket(Bucket=BUCKET)

    def wait(self, port):
        """Until it takes connections."""
        end = time.monotonic() + START_SECONDS_MAX
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    self.stop()
                    sys.exit(f"{self.name} could not start: see {self.files}/log")
                time.sleep(0.05)

    def stop(self):
        """Stops it, once."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        atexit.unregister(self.stop)

    # What is there, as the server or its files say it: not as xsort does.

    def put(self, key, content):
        self.client.put_object(Bucket=BUCKET, Key=key, Body=content)

    def get(self, key):
        return self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()

    def tag(self, key):
        return self.client.head_object(Bucket=BUCKET, Key=key)["ETag"].strip('"')

    def keys(self, prefix=""):
        """All keys that begin so, and the objects' sizes."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return {one["Key"]: one["Size"] for page in pages for one in page.get("Contents", ())}

    def remove(self, prefix=""):
        for key in self.keys(prefix):
            self.client.delete_object(Bucket=BUCKET, Key=key)

    def abort_uploads(self):
        """What a test that failed has left."""
        for one in self.client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", ()):
            self.client.abort_multipart_upload(
                Bucket=BUCKET, Key=one["Key"], UploadId=one["UploadId"]
            )

    def parts_under_way(self):
        """How many parts each upload under way has, by its number."""
        listed = self.client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", ())
        return {
            one["UploadId"]: len(
                self.client.list_parts(
                    Bucket=BUCKET, Key=one["Key"], UploadId=one["UploadId"]
                ).get("Parts", ())
            )
            for one in listed
        }


class Moto(Server):
    """The server of moto, which simulates Amazon's services for tests."""

    name = "moto"
    checks_no_credentials = "moto takes all signatures unless users are made in its IAM"

    def command(self, port):
        program = ROOT / "target/stores-venv/bin/moto_server"
        return [program, "-H", "127.0.0.1", "-p", str(port)]


class S3sFs(Server):
    """The server of the crate s3s-fs, which keeps objects as files."""

    name = "s3s-fs"
    lists_no_uploads = "s3s-fs has no ListMultipartUploads (501)"
    makes_missing_buckets = "s3s-fs makes the directory of a bucket when an object comes"
    takes_few_keys = "s3s-fs has keys as paths of files: a//b and a/b are the same"

    fails_at_directories = "s3s-fs fails (500) when it is asked for a key that is a directory"

    def command(self, port):
        program = ROOT / "target/stores-tools/bin/s3s-fs"
        keys = ["--access-key", KEY_ID, "--secret-key", SECRET]
        return [program, "--host", "127.0.0.1", "--port", str(port), *keys, self.files / "data"]

    def keys(self, prefix=""):
        # Its lists say that keys are encoded, and they aren't: the client makes `a b` of `a+b`.
        top = self.files / "data" / BUCKET
        files = [file for file in top.rglob("*") if file.is_file()]
        keys = {str(file.relative_to(top)): file.stat().st_size for file in files}
        return {key: keys[key] for key in sorted(keys) if key.startswith(prefix)}

    def remove(self, prefix=""):
        super().remove(prefix)
        # It leaves directories, where no object of their name can be then.
        top = self.files / "data" / BUCKET
        for folder in sorted(top.rglob("*"), reverse=True):
            if folder.is_dir() and not os.listdir(folder):
                folder.rmdir()

    def abort_uploads(self):
        for file in (self.files / "data").glob(".upload*"):
            file.unlink()

    def parts_under_way(self):
        parts = {}
        for file in (self.files / "data").glob(".upload*"):
            # .upload-NUMBER.json, and .upload_id-NUMBER.part-7
            kind, number = file.name.lstrip(".").split(".")[0].split("-", 1)
            parts[number] = parts.get(number, 0) + (kind == "upload_id")
        return parts


def free_port():
    """A port that nobody listens on now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def stop_on_signals():
    """Signals end Python as Ctrl-C does, which unittest takes for no failed test: then what has to
    be stopped is."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
