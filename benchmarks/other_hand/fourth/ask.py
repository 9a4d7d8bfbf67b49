import sys, json, time, re, os
CODE=os.environ.get("CODE","/tmp/w/shapes")
sys.path.insert(0,CODE)
from pathlib import Path
from rag_assets import config as configuration
from rag_assets.store import Store
from rag_assets.store.complete_sets import set_of
from rag_assets.table_lookup.tables.catalogue import catalogue_of
from rag_assets.table_lookup.looking_up import look_up
from rag_assets.terms import lemmas
from rag_assets.retrieval.glossary import read_glossary
held={}
def cat(c):
    if c not in held:
        cfg=configuration.load(Path(f"/tmp/w/e59/{c}/rag_assets.yaml")); st=Store.of(cfg); lemmas.keep_in(st.root)
        held[c]=catalogue_of(st,set_of(st,cfg,next(iter(cfg.variants))),glossary=read_glossary(cfg))
    return held[c]
def numbers(t):
    t=re.sub(r"(?<=\d)[,\u00a0\u202f ](?=\d{3}\b)","",t)
    return [float(x) for x in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?",t)]
def tol(q):
    rel,ab=0.005,1e-9
    for a in q.get("accept",[]):
        if isinstance(a,dict): rel=max(rel,a.get("rel",0)); ab=max(ab,a.get("abs",0))
    return rel,ab
def says(text, v, q):
    if isinstance(v,bool) or v is None: return None
    if isinstance(v,(int,float)):
        rel,ab=tol(q)
        return any(abs(n-v)<=max(ab,rel*abs(v)) for n in numbers(text))
    if isinstance(v,(list,tuple)):
        return all(says(text,x,q) for x in v[:5])
    if isinstance(v,dict): return all(says(text,x,q) for x in list(v)[:3])
    return str(v).casefold().strip() in text.casefold()
def ok(found,q,value):
    text=" ".join(s.text for s in found.sentences).replace(",","," )
    if found.plan is not None and found.plan.operation=="rows": pass
    opts=[value]+[a for a in q.get("accept",[]) if not isinstance(a,dict)]
    return any(says(text.replace("\u202f",""),o,q) for o in opts)
mode=sys.argv[1]; verbose="-v" in sys.argv
if mode=="q":
    tot={}
    for c in sys.argv[2]:
        t0=time.process_time(); look_up("how many rows are there?",cat(c)); print("built",time.process_time()-t0)
        t0=time.process_time(); n=0
        for l in open(f"/tmp/w/corpora59/{c}/questions.jsonl"):
            q=json.loads(l)
            f=look_up(q["question"],cat(c)); n+=1
            kind=q["kind"]
            r=ok(f,q,q["gold"]["value"]) if kind=="table" and f.outcome in("answered","proposed") else None
            key=(kind,q["language"],f.outcome,r); tot[key]=tot.get(key,0)+1
            if verbose or f.outcome in("answered","proposed") and r is not True:
                print(q["id"],kind,f.outcome,r,"|",q["question"],"|",(q["gold"] or {}).get("value") if kind=="table" else "", "|",[s.text for s in f.sentences][:2], f.reason[:150], f.left_out)
        print(c,n,"cpu/question",(time.process_time()-t0)/n)
    for k,v in sorted(tot.items(),key=str): print(k,v)
    tab=sum(v for k,v in tot.items() if k[0]=="table")
    s=lambda o,r:sum(v for k,v in tot.items() if k[0]=="table" and k[2]==o and k[3]==r)
    print("computed right",s("answered",True),"of",s("answered",True)+s("answered",False),"proposed right",s("proposed",True),"of",s("proposed",True)+s("proposed",False),"of table questions",tab)
elif mode=="p":
    bad={}
    for l in open("/tmp/w/corpora59/probes.jsonl"):
        q=json.loads(l); f=look_up(q["question"],cat(q["corpus"]))
        if f.outcome in("answered","proposed"):
            r = False if q["right"]=="refuse" else ok(f,q,q["right"])
            k=(f.outcome,r); bad[k]=bad.get(k,0)+1
            if r is not True: print(q["id"],f.outcome,"|",q["question"],"| turns",q["turns"],"| right",str(q["right"])[:80],"|",[s.text for s in f.sentences][:2],f.left_out)
        else: bad[f.outcome]=bad.get(f.outcome,0)+1
    print(bad)
