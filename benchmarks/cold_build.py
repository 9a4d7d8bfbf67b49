"""A first build of 2,000 text files with the real model, against other frameworks with the same.

usage: cold_build.py [--documents 2000]

All embed the same chunks with MiniLM-L6: peers through sentence-transformers as they come, ours on
the path chosen for this processor. What counts is the CPU time of the whole build; imports, and
the loading of weights by peers, are left out. The encoder's share is what the same build with a
hash in its place does not take. Without AVX512-BF16 or AMX there is nothing to gain from half the
precision: ours must be the fastest then, not three times as fast.
"""

import argparse

from bounds import at_least, finish
from pipelines import MODEL, middle, run

from rag_assets.config import EmbeddingModel
from rag_assets.models.paths import paths_here

PEERS = ("langchain + chroma", "llama-index + lancedb", "cocoindex + lancedb")
"""LangChain's `index()`, LlamaIndex's `IngestionPipeline` and CocoIndex."""
SHARE = 0.85


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=2_000)
    documents = parser.parse_args().documents
    hashed = run(["rag_assets"], documents=documents, editions=1, runs=1)
    built = run(["rag_assets", *PEERS], documents=documents, editions=1, runs=1, model=MODEL)
    cpu = {arm: middle(editions[0], what="cpu") for arm, editions in built.items()}
    ours = cpu.pop("rag_assets")
    best = min(cpu, key=lambda arm: cpu[arm])
    framework = middle(hashed["rag_assets"][0], what="cpu")
    path = paths_here(EmbeddingModel(path=MODEL))[0]
    print(f"ours {ours:.1f} CPU s on {path}, of which {framework:.1f} s are not the encoder's")
    print(f"best peer: {best}, {cpu[best]:.1f} CPU s")
    times_less = 3.0 if path.endswith("bf16") else 1.0
    finish(
        "cold_build",
        [
            at_least(f"CPU of {best} / CPU of ours", cpu[best] / ours, times_less),
            at_least("share of the encoder in ours", 1 - framework / ours, SHARE),
        ],
    )


if __name__ == "__main__":
    main()
