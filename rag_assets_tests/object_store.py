"""An S3 server on this machine."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.request import Request, urlopen

BUCKET = "materials"
LOCAL = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_ALLOW_HTTP": "true",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@contextmanager
def running() -> Iterator[str]:
    """A server with an empty bucket, as the environment says; yields the bucket's URL."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    held = dict(os.environ)
    os.environ.update(LOCAL, AWS_ENDPOINT_URL=f"http://{host}:{port}")
    try:
        boto3.client("s3").create_bucket(Bucket=BUCKET)
        yield f"s3://{BUCKET}"
    finally:
        reset = Request(f"http://{host}:{port}/moto-api/reset", method="POST")
        urlopen(reset).close()  # the next server of this process would hold the same buckets
        server.stop()
        for name in {*LOCAL, "AWS_ENDPOINT_URL"}:
            os.environ.pop(name, None)
        os.environ.update({name: held[name] for name in LOCAL if name in held})
