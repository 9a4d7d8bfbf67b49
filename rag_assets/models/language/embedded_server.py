"""The process of the embedded language model; it ends when its input does, or its parent.

It is told key, alias and weights as a line of JSON, and says where it listens in one. The key
stands neither among its arguments nor in its environment, where others could read it.
"""

import json
import os
import sys
import time
from threading import Thread

CONTEXT_TOKENS = 8_192
THREADS = 1
"""The threads that compute: more of them wait for each other actively, which is slower wherever
other work runs too."""
SECONDS_BETWEEN_LOOKS = 1.0


def main() -> None:
    """Serve until whoever started this process is gone."""
    parent = os.getppid()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the engine writes there
    told = json.loads(sys.stdin.buffer.readline())
    Thread(target=_end_with, args=[parent], daemon=True).start()

    import xllamacpp

    settings = xllamacpp.CommonParams()
    settings.model.path = told["weights"]
    settings.model_alias = {told["alias"]}
    settings.hostnames = ["127.0.0.1"]
    settings.port = 0
    settings.api_keys = [told["key"]]
    settings.n_ctx = CONTEXT_TOKENS
    settings.n_parallel = 1
    settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = THREADS
    settings.use_jinja = True
    server = xllamacpp.Server(settings)
    answers.write(json.dumps({"url": server.listening_address}).encode() + b"\n")
    answers.flush()
    sys.stdin.buffer.read()
    os._exit(0)


def _end_with(parent: int) -> None:
    """End this process once its parent is another: the pipe may live on in a sibling."""
    while os.getppid() == parent:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    os._exit(0)


if __name__ == "__main__":
    main()
