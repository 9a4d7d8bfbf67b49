# python3 verify.py : recomputes every gold expression and checks every quote (needs pandas)
import json,sys
from common import *
from build import text
bad=0;n=0
INV={v[1]:k for k,v in T.items()}
for c in 'AB':
    for l in open(f'{R}{c}/questions.jsonl',encoding='utf-8'):
        r=json.loads(l);n+=1
        if r['kind']=='table':
            if ev(INV[r['gold']['table']],r['gold']['pandas'])!=r['gold']['value']: bad+=1;print(r['id'])
        elif r['kind']=='document':
            if r['gold']['quote'] not in text(f"{R}{c}/documents/{r['gold']['document']}"): bad+=1;print(r['id'])
for f in ('probes','follow_ups'):
    for l in open(f'{R}{f}.jsonl',encoding='utf-8'):
        r=json.loads(l);n+=1
        if r['pandas'] and ev(INV[r['table']],r['pandas'])!=r['right']: bad+=1;print(r['id'])
print(n,'checked',bad,'bad')
