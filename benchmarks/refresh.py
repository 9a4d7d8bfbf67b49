"""A refresh of 2,000 text files without a model: cold, nothing changed, 1 % changed, 1 % deleted.

usage: refresh.py [--documents 2000] [--runs 3]

A hash stands in for the embedding model, so that the framework and its store are what is measured.
Ours are all stages from the landed manifest to indexed vectors: elements, chunks under the model's
real tokenizer, vectors, indexes; listing and landing the files is printed apart. Peers get chunks
ready-made and keep one table; the one that is told apart cuts as well. The floor is a script
without any framework: one hash of each document, one upsert, one delete. It tells what the machine
can do: the seconds that the bounds allow are those of a machine on which the floor takes .36, .05,
.07 and .05 s.
"""

import argparse

from bounds import Bound, at_most, equal, finish
from pipelines import CUTTING, EDITIONS, middle, run

PEERS = (
    "langchain + lancedb",
    "langchain + chroma",
    "llama-index + lancedb",
    "cocoindex + lancedb",
)
OF_FLOOR = {"cold": 1.8 / 0.36, "nothing changed": 0.3 / 0.05}
OF_FLOOR |= {"1 % changed": 0.5 / 0.07, "1 % deleted": 0.4 / 0.05}
OF_BEST_PEER = {"cold": 0.85, "nothing changed": 1 / 5, "1 % changed": 1 / 4, "1 % deleted": 1 / 5}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=2_000)
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    done = run(
        ["rag_assets", "floor", *PEERS, CUTTING],
        documents=asked.documents,
        editions=len(EDITIONS),
        runs=asked.runs,
    )
    bounds: list[Bound] = []
    for number, name in enumerate(EDITIONS):
        wall = {arm: middle(editions[number]) for arm, editions in done.items()}
        ours, floor, cutting = (wall.pop(arm) for arm in ("rag_assets", "floor", CUTTING))
        best = min(wall, key=lambda arm: wall[arm])
        stages = done["rag_assets"][number][0].stages
        shown = ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in stages.items())
        print(
            f"{name}: ours {ours:.2f} s, floor {floor:.3f} s, {best} {wall[best]:.2f} s, "
            f"{CUTTING} {cutting:.2f} s; {shown}"
        )
        bounds.append(at_most(f"{name}: seconds / floor", ours / floor, round(OF_FLOOR[name], 2)))
        of_best, of_cutting = f"{name}: seconds / best peer", f"{name}: seconds / {CUTTING}"
        bounds.append(at_most(of_best, ours / wall[best], OF_BEST_PEER[name]))
        bounds.append(at_most(of_cutting, ours / cutting, OF_BEST_PEER[name]))
    last = done["rag_assets"][1][0].embedded
    bounds.append(equal("texts embedded where nothing changed", last, 0))
    finish("refresh", bounds)


if __name__ == "__main__":
    main()
