"""`python -m rag_assets.workers`: one worker."""

from rag_assets.workers.process import main

main()
