import { beforeEach, expect, it } from '@jest/globals';
import { anEngine } from '../../test/anEngine.ts';
import { aPlacement } from '../../test/aPlacement.ts';
import type { EngineLoad } from '../engines/engineLoad.ts';
import { endOfBlocks, hashPrefix } from '../engines/promptPrefix.ts';
import { OTHERS_PROMPT_MS } from '../engines/terms/limits.ts';
import { MAX_TOLD_BLOCKS, ROUTER_SILENT_MS, TELL_AGAIN_MS } from './limits.ts';
import { Placer } from './placer.ts';
import { RouterNews } from './routerNews.ts';

const BLOCKS = 32;
const BYTES = endOfBlocks(BLOCKS);
const TOKENS = BYTES / 4;
const counted = (cachedPromptTokens: number) =>
  ({ kind: 'whole', usage: { promptTokens: TOKENS, cachedPromptTokens, completionTokens: 10 } }) as const;

const hashesOf = (number: number) => hashPrefix('salt', Buffer.alloc(BYTES, `prompt ${number} `));

/** Time stands still until a test moves it. */
const clock = { nowMs: 0 };
const nowMs = (): number => clock.nowMs;

/** A router with its own view of four engines. */
function aRouter(name: string) {
  // The last two have one id: the pod has two addresses, or its id was given to another.
  const engines = [1, 2, 3, 3].map((number, at) =>
    anEngine(`engine-${number}`, { origin: `http://10.0.0.${at}`, nowMs, tryOut() {} }),
  );
  const news = new RouterNews(name, { engines: () => engines, nowMs });
  const placer = new Placer({ nowMs, random: () => 0.5, news });
  return {
    news,
    engines,
    loads: () => engines.map(({ load }) => load.loadTokens),
    /** Places a call of 4,096 prompt tokens that no other number shares, on these engines. */
    place(number: number, among = engines) {
      const fields = { prefixHashes: hashesOf(number), promptBytes: BYTES, estimatedPromptTokens: TOKENS };
      const placed = placer.place(among, aPlacement(fields));
      if (!placed) throw new Error('not placed');
      return placed;
    },
  };
}
type Router = ReturnType<typeof aRouter>;

let one: Router;
let other: Router;
beforeEach(() => {
  clock.nowMs = 0;
  [one, other] = [aRouter('one'), aRouter('other')];
});

/** Passes one router's news to the other. */
function tell(from: Router, to: Router): void {
  const text = from.news.tell();
  if (text !== undefined) to.news.hear(text);
}

it('counts the work of other routers until it has ended', () => {
  const placed = one.place(1);
  tell(one, other);
  expect(other.loads()).toEqual(one.loads());
  expect(other.loads()).not.toEqual([0, 0, 0, 0]);
  const before = other.loads();
  placed.firstEvent();
  tell(one, other);
  expect(other.loads()).not.toEqual(before);
  expect(other.loads()).toEqual(one.loads());
  placed.end(counted(0));
  tell(one, other);
  expect(other.loads()).toEqual([0, 0, 0, 0]);
});

it('counts it once, however often it is told and whatever was lost before', () => {
  const first = one.place(1);
  one.place(2);
  const text = one.news.tell() ?? '';
  other.news.hear(text);
  other.news.hear(text);
  expect(other.loads()).toEqual(one.loads());
  first.end(counted(0));
  one.news.tell();
  one.place(3);
  tell(one, other);
  expect(other.loads()).toEqual(one.loads());
});

it('counts no work of a router that says nothing for 2 s', () => {
  one.place(1);
  tell(one, other);
  clock.nowMs = ROUTER_SILENT_MS - 1;
  other.news.forgetSilent();
  expect([other.loads(), other.news.others]).toEqual([one.loads(), 1]);
  clock.nowMs = ROUTER_SILENT_MS;
  other.news.forgetSilent();
  expect([other.loads(), other.news.others]).toEqual([[0, 0, 0, 0], 0]);
  tell(one, other);
  expect(other.loads()).toEqual(one.loads());
});

it('sends a prompt where another router has sent it', () => {
  for (const [number, engine] of one.engines.entries()) {
    one.place(number, [engine]).end(counted(0));
    tell(one, other);
    const { decision, engine: chosen } = other.place(number);
    expect([decision.reason, chosen.origin]).toEqual(['match', engine.origin]);
  }
});

it('does not take blocks for dropped that another router’s call is only just bringing', () => {
  const [engine] = other.engines;
  if (!engine) throw new Error('no engine');
  const here = [engine];
  const isOlderOneKept = (): boolean => engine.load.prefixes.match(hashesOf(0)) === BLOCKS;
  // One that counts what it has cached.
  for (const cached of [0, TOKENS]) other.place(0, here).end(counted(cached));
  one.place(1, one.engines.slice(0, 1));
  tell(one, other);
  // Sent while the other is still at it: it counts less than will be there.
  other.place(1, here).end(counted(0));
  expect(isOlderOneKept()).toBe(true);
  // Once it must have been there, that it was not says that it is gone, and with it what was used no later.
  one.place(2, one.engines.slice(0, 1));
  tell(one, other);
  clock.nowMs = OTHERS_PROMPT_MS;
  other.place(2, here).end(counted(0));
  expect(isOlderOneKept()).toBe(false);
});

it('tells at once what is new, and every half second what is not, which may not have been heard', () => {
  const placedToldNow = () => JSON.parse(one.news.tell() ?? '{}').placed?.length;
  expect([placedToldNow(), placedToldNow()]).toEqual([0, undefined]);
  const placed = one.place(1);
  expect([placedToldNow(), placedToldNow()]).toEqual([1, undefined]);
  clock.nowMs = TELL_AGAIN_MS;
  expect([placedToldNow(), placedToldNow()]).toEqual([0, undefined]);
  placed.end(counted(0));
  expect([placedToldNow(), placedToldNow()]).toEqual([0, undefined]);
});

it('tells work again at once that was told to nobody', () => {
  one.place(1);
  one.news.tell();
  one.news.notTold();
  tell(one, other);
  expect(other.loads()).toEqual(one.loads());
});

it('knows its own news', () => {
  one.place(1);
  const before = one.loads();
  expect(one.news.hear(one.news.tell() ?? '')).toEqual({ isOwn: true });
  expect(one.loads()).toEqual(before);
});

it('tells no more blocks at once than a listener takes in a moment', () => {
  const prompts = Math.floor(MAX_TOLD_BLOCKS / BLOCKS);
  for (let number = 0; number < prompts + 10; number += 1)
    one.news.placed(one.engines[0]?.load as EngineLoad, hashesOf(number));
  expect(JSON.parse(one.news.tell() ?? '').placed).toHaveLength(prompts);
  one.place(1);
  expect(JSON.parse(one.news.tell() ?? '').placed).toHaveLength(1);
});

it.each([
  '',
  '{}',
  '{"router":"x","work":{"engine-1 http://10.0.0.0":[1]},"placed":[]}',
  '{"router":"x","work":{},"placed":[["engine-1 http://10.0.0.0",[7]]]}',
])('takes nothing from what it cannot read: %s', (text) => {
  expect(() => one.news.hear(text)).toThrow();
  expect([one.loads(), one.news.others]).toEqual([[0, 0, 0, 0], 0]);
});

it('passes over engines that it does not know, as one that has its id at another address', () => {
  one.news.hear('{"router":"x","work":{"engine-1 http://10.0.0.9":[5,5]},"placed":[["engine-9 ","AAAAAA=="]]}');
  expect(one.loads()).toEqual([0, 0, 0, 0]);
});

it('counts others’ work on the engines that there are now, where new ones have taken their places', () => {
  one.place(1);
  tell(one, other);
  const gone = other.engines.splice(0);
  other.engines.push(...aRouter('new').engines);
  tell(one, other);
  clock.nowMs = TELL_AGAIN_MS;
  tell(one, other);
  expect(other.loads()).toEqual(one.loads());
  expect(gone.map(({ load }) => load.loadTokens)).toEqual([0, 0, 0, 0]);
});

it.each([
  [0, 500],
  [1, 50],
  [9, 50],
  [40, 200],
  [150, 500],
])('tells more seldom beside no router, and beside many: %d others, every %d ms', (others, pauseMs) => {
  for (let number = 0; number < others; number += 1)
    one.news.hear(JSON.stringify({ router: String(number), work: {}, placed: [] }));
  expect(one.news.pauseMs).toBe(pauseMs);
});
