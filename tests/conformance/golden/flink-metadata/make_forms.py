#!/usr/bin/env python3
"""make_forms.py - writes the files of this directory: every kind of handle of Flink's _metadata, also those that later versions
only read, encoded from the format's description; and how the oracle (tests/conformance/oracle/flinkmeta.py) reads them."""
import json
import os
import struct
import subprocess
import sys

G=os.path.dirname(os.path.abspath(__file__))
O=os.path.join(G,'../../oracle/flinkmeta.py')
i4=lambda v:struct.pack('>i',v); i8=lambda v:struct.pack('>q',v)
def utf(s):
    b=b''
    for u in struct.unpack('>%dH'%(len(s.encode('utf-16-be','surrogatepass'))//2),s.encode('utf-16-be','surrogatepass')):
        if 0<u<0x80: b+=bytes([u])
        elif u<0x800: b+=bytes([0xC0|u>>6,0x80|u&63])
        else: b+=bytes([0xE0|u>>12,0x80|(u>>6&63),0x80|u&63])
    return struct.pack('>H',len(b))+b
bl=lambda b:i4(len(b))+b
rng=lambda a,n:i4(a)+i4(n)
offs=lambda *o:b''.join(i8(x) for x in o)
none=b'\0'
def inl(n,b): return b'\1'+utf(n)+bl(b)
def fil(n,p): return b'\2'+i8(n)+utf(p)
def rel(n,p): return b'\6'+utf(p)+i8(n)
def seg(st,n,sc,p,l): return b'\x0f'+i8(st)+i8(n)+i4(sc)+utf(p)+utf(l)
empty=b'\x10'
def hdr(v,cid,masters,ops): return i4(0x4960672D)+i4(v)+i8(cid)+i4(len(masters))+b''.join(masters)+i4(len(ops))+b''.join(ops)
def master(v,n,b):
    x=i4(v)+utf(n)+bl(b); return struct.pack('>I',0xC96B1696)+bl(x)
def oplist(tag,states,extra,stream):
    b=bytes([tag])+i4(len(states))
    for n,m,o in states: b+=utf(n)+bytes([m])+i4(len(o))+offs(*o)
    return b+extra+stream
def chan(s,a,b,o,size,st): return i4(s)+i4(a)+i4(b)+i4(len(o))+offs(*o)+i8(size)+st
def merged(s,size,st,chs):
    blob=i4(len(chs))
    for a,b,n,o in chs: blob+=i4(a)+i4(b)+i8(n)+i4(len(o))+offs(*o)
    return i4(s)+i8(size)+st+bl(blob)
def lst(l): return i4(len(l))+b''.join(utf(n)+s for n,s in l)
ID=bytes(range(16))
# version 2: old forms
groups3=b'\3'+rng(0,2)+offs(10,0)+rel(40,'a b')
incr5=b'\5'+i8(7)+utf('backend')+rng(2,2)+fil(9,'file:/x/meta')+lst([('000001.sst',fil(-1,'hdfs://nn:8020/s'))])+lst([('CURRENT',inl('file:/x/c',b'MANIFEST-1\n'))])
stream3=b'\3'+rng(0,1)+offs(5)+rel(12,'inner')
v2=hdr(2,7,[master(5,'ho\0ok€😀',b'\1\2\3')],[ID+i4(2)+i4(4)+i4(1)+i4(2)
  +i4(0)+i8(-1)+i4(0)+i4(1)+oplist(4,[('uni€😀',0,[0,4]),('u',1,[])],b'',rel(8,'ops'))+i4(0)+groups3+none
  +i4(1)+i8(-1)+i4(0)+i4(0)+i4(1)+oplist(4,[('b',2,[0])],b'',inl('raw',b'12345678'))+incr5+b'\3'+rng(2,1)+offs(-1)+stream3])
# version 3: changelog, channels, finished
groups12=b'\x0c'+rng(0,1)+offs(3)+rel(100,'heap')+utf('h1')
incr11=b'\x0b'+i8(5)+utf('b2')+rng(1,1)+i8(-1)+rel(5,'m')+lst([('1.sst',fil(3,'file:/s/1'))])+lst([])+utf('h2')
cb9=b'\x09'+rng(0,1)+i8(3)+i8(9)+i4(2)+i4(-1)+bl(b'meta')+i4(0)+bl(b'')+utf('h9')
cf10=b'\x0a'+rng(0,1)+i4(1)+i8(4)+fil(77,'file:/l/1')+i8(77)+i8(0)+utf('h10')
cf13=b'\x0d'+rng(0,1)+i4(2)+i8(0)+fil(70,'file:/l/2')+i8(1)+rel(6,'l3')+i8(76)+i8(76)+utf('h13')+utf('filesystem')
cl8=b'\x08'+rng(0,1)+i8(10)+i4(1)+groups12+i4(1)+cf10+i8(2)+utf('h8')
cl14=b'\x0e'+rng(1,1)+i8(11)+i4(1)+incr11+i4(2)+cb9+cf13+i8(3)+i8(9)+utf('h14')
e18=bytes(18)
v3=hdr(3,9,[],[
 ID+i4(3)+i4(8)+inl('c',b'\0\0\0\1')+i4(3)
  +i4(0)+i4(0)+i4(0)+cl8+none+i4(1)+chan(0,0,1,[4,20],36,rel(50,'ch'))+i4(0)
  +i4(1)+i4(0)+i4(0)+cl14+none+i4(0)+i4(1)+chan(1,2,3,[],0,fil(50,'file:/ch'))
  +i4(-3),
 ID[::-1]+i4(3)+i4(128)+none+i4(-1),
 bytes(16)+i4(1)+i4(1)+none+i4(1)+i4(0)+e18])
# version 6 with merged channels and file merging
# The properties of a savepoint by Flink 2.3.0, from the end of what it wrote itself.
seed=open(os.path.join(G,'../../../fuzz/corpus/flink_metadata/canonical-savepoint-from-rocksdb'),'rb').read()
props=seed[seed.rindex(b'\xac\xed\0\5'):]
v6=hdr(6,11,[],[utf('Map')+utf('map')+ID+i4(2)+i4(128)+none+i4(2)
  +i4(0)+i4(1)+oplist(17,[('l',0,[0,2])],utf('/t/own')+utf('/t/shared')+b'\0',seg(100,16,0,'file:/t/own/f','lid'))+i4(0)
   +b'\7'+rng(0,2)+offs(0,4)+seg(116,9,1,'file:/t/shared/g','lid2')+none
   +i4(2)+b'\1'+chan(0,0,0,[4],20,rel(99,'c'))+b'\3'+merged(0,33,rel(99,'c'),[(0,1,12,[20,40]),(1,0,21,[])])
   +i4(2)+b'\2'+chan(0,5,6,[],0,rel(99,'c'))+b'\4'+merged(1,7,inl('x',b'1234567'),[(3,4,7,[0])])
  +i4(1)+i4(1)+oplist(17,[],utf('/t/own')+utf('/t/shared')+b'\1',empty)+i4(0)+none+none+i4(0)+i4(0)])+props
v5=hdr(5,1,[],[utf('')+utf('')+ID+i4(1)+i4(1)+none+i4(1)+i4(0)+i4(0)+i4(0)+none+none+i4(1)+chan(0,0,0,[1],2,none)+i4(0)])+props
for n,b in (('old-forms-2',v2),('changelog-3',v3),('channels-5',v5),('merged-6',v6)):
    f='%s/%s'%(G,n); open(f+'.bin','wb').write(b)
    j=json.loads(subprocess.check_output([sys.executable,O,'--nodata',f+'.bin']))
    # --nodata leaves change bytes; fine
    json.dump(j,open(f+'.json','w'),separators=(',',':'),sort_keys=True,ensure_ascii=False); print(n,len(b))
