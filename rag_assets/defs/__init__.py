"""Where `dg` looks for what it scaffolds in this repository: nothing is here.

`rag_assets.definitions` names every asset, which loads twice as fast as a folder that is searched.
In a project of one's own the component goes into such a folder; its attributes are:

>>> from rag_assets import RetrievalIndex
>>> sorted(RetrievalIndex.get_model_cls().model_fields)
['config', 'executor', 'file', 'key_prefix']
"""
