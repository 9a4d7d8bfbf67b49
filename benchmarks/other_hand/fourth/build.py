import sys, time
sys.path.insert(0,'/tmp/w/shapes')
from pathlib import Path
from rag_assets import config as configuration
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import refresh
for c in "AB":
    home=Path(f"/tmp/w/e59/{c}"); home.mkdir(exist_ok=True)
    (home/"rag_assets.yaml").write_text(f"""state_dir: state
sources:
  tables: [{{name: data, url: /tmp/w/corpora59/{c}/tables}}]
retrieval: {{retriever: bm25}}
gate: {{queries: 50}}
""")
    t=time.time()
    with hashing():
        for r in refresh(configuration.load(home/"rag_assets.yaml")): pass
    print(c, time.time()-t)
