"""LangChain's recursive splitter with the given tokenizer: JSON in, JSON out."""

import json
import sys
import time

from langchain_text_splitters import RecursiveCharacterTextSplitter
from tokenizers import Tokenizer

request = json.load(sys.stdin)
tokenizer = Tokenizer.from_file(request["tokenizer"])
tokenizer.no_truncation()
tokenizer.no_padding()
splitter = RecursiveCharacterTextSplitter(
    chunk_size=request["size"],
    chunk_overlap=request["overlap"],
    length_function=lambda text: len(tokenizer.encode(text).ids),
)
started = time.process_time()
chunks = [chunk for text in request["texts"] for chunk in splitter.split_text(text)]
seconds = time.process_time() - started
print(json.dumps({"seconds": seconds, "chunks": len(chunks)}))
