import { beforeEach, describe, expect, it } from '@jest/globals';
import { anEngine as anyEngine, type EngineFields } from '../../test/anEngine.ts';
import { aPlacement } from '../../test/aPlacement.ts';
import type { Engine } from '../engines/engine.ts';
import { endOfBlocks, hashPrefix } from '../engines/promptPrefix.ts';
import type { Trial } from '../engines/terms/dialect.ts';
import { Placer } from './placer.ts';

const BLOCKS = 32;
const BYTES = endOfBlocks(BLOCKS);
const TOKENS = BYTES / 4;

/** Time stands still until a test moves it. */
const clock = { nowMs: 0 };
beforeEach(() => {
  clock.nowMs = 0;
});

const anEngine = (id: string, fields: EngineFields = {}): Engine =>
  anyEngine(id, { nowMs: () => clock.nowMs, tryOut() {}, ...fields });
const someEngines = (count: number, fields: EngineFields = {}): Engine[] =>
  Array.from({ length: count }, (_, index) => anEngine(`engine-${index + 1}`, fields));
const DROPPED = { kind: 'left_midway' } as const;

/** A call with 4,096 prompt tokens that no other number shares. */
const aCall = (number: number) =>
  aPlacement({
    prefixHashes: hashPrefix('salt', Buffer.alloc(BYTES, `prompt ${number} `)),
    promptBytes: BYTES,
    estimatedPromptTokens: TOKENS,
  });

/** A placer whose draws are all alike. */
const aPlacer = () => ({ placer: new Placer({ nowMs: () => clock.nowMs, random: () => 0.5 }) });

function place(placer: Placer, engines: readonly Engine[], number = 1) {
  const placed = placer.place(engines, aCall(number));
  if (!placed) throw new Error('not placed');
  return placed;
}

/** Places a call and lets it end, with so many of its prompt tokens read from the cache. */
function serve(placer: Placer, engines: readonly Engine[], cachedPromptTokens = 0, number = 1) {
  const placed = place(placer, engines, number);
  placed.firstEvent();
  placed.end({ kind: 'whole', usage: { promptTokens: TOKENS, cachedPromptTokens, completionTokens: 10 } });
  return placed.engine;
}

it('chooses only among the engines it is given, and none where there is none', () => {
  const { placer } = aPlacer();
  const engines = someEngines(4);
  const home = serve(placer, engines);
  expect(
    place(
      placer,
      engines.filter((engine) => engine !== home),
    ).engine,
  ).not.toBe(home);
  expect(placer.place([], aCall(1))).toBeUndefined();
});

it('lets routers agree on a new prefix without sharing anything', () => {
  for (let number = 0; number < 30; number += 1) {
    const [here, there] = [someEngines(5), someEngines(5).reverse()];
    expect(place(aPlacer().placer, there, number).engine.id).toBe(place(aPlacer().placer, here, number).engine.id);
  }
});

it('spreads random prefixes so that no engine gets 1.3 times the mean', () => {
  const { placer } = aPlacer();
  const engines = someEngines(4);
  const placed = new Map<Engine, number>();
  for (let number = 0; number < 1_000; number += 1) {
    const engine = serve(placer, engines, 0, number);
    placed.set(engine, (placed.get(engine) ?? 0) + 1);
  }
  expect(Math.max(...placed.values())).toBeLessThan(1.3 * 250);
});

describe('tokens in flight', () => {
  it('count from the selection: the prompt until the first event, the answer until the end', () => {
    const { placer } = aPlacer();
    const [engine] = someEngines(1);
    if (!engine) throw new Error('no engine');
    const placed = place(placer, [engine]);
    expect(engine.load.tokensInFlight).toBe(TOKENS + 100);
    placed.firstEvent();
    expect(engine.load.tokensInFlight).toBe(100);
    placed.end(DROPPED);
    placed.end(DROPPED);
    expect(engine.load.tokensInFlight).toBe(0);
  });

  it('do not count what is cached', () => {
    const { placer } = aPlacer();
    const [engine] = someEngines(1);
    if (!engine) throw new Error('no engine');
    serve(placer, [engine]);
    place(placer, [engine]);
    expect(engine.load.tokensInFlight).toBe(100);
  });
});

describe('what an engine says of its cache', () => {
  /** Serves call 1 on an engine, then on all: does it go back there? */
  function returnsTo(change: (engines: Engine[], placer: Placer) => Engine[]): boolean {
    const { placer } = aPlacer();
    const engines = someEngines(4);
    const away = engines.find((engine) => engine !== place(aPlacer().placer, engines).engine) ?? engines[0];
    if (!away) throw new Error('no engine');
    serve(placer, [away]);
    return place(placer, change(engines, placer)).engine.id === away.id;
  }

  it('is believed to hold what was sent there', () => {
    expect(returnsTo((engines) => engines)).toBe(true);
  });

  it('clears what is believed of it when it had less: it has dropped that and all that is older', () => {
    const { placer } = aPlacer();
    const [first, second] = someEngines(2);
    if (!first || !second) throw new Error('no engines');
    serve(placer, [first], 0, 1);
    serve(placer, [first], 0, 2);
    serve(placer, [first], TOKENS, 2);
    // Number 2 is not there any more, so neither is number 1, which was used before it.
    serve(placer, [first], 0, 2);
    place(placer, [first], 1);
    expect(first.load.tokensInFlight).toBeGreaterThan(TOKENS);
  });

  it('is not cleared for one block of a short prompt, of which the engine had all but a few tokens', () => {
    const { placer } = aPlacer();
    const [engine] = someEngines(1);
    if (!engine) throw new Error('no engine');
    const short = aPlacement({
      prefixHashes: hashPrefix('salt', Buffer.alloc(endOfBlocks(5), 'short ')),
      promptBytes: endOfBlocks(5),
      estimatedPromptTokens: 640,
    });
    serve(placer, [engine], 0, 1);
    serve(placer, [engine], TOKENS, 1);
    for (const cachedPromptTokens of [0, 630])
      placer
        .place([engine], short)
        ?.end({ kind: 'whole', usage: { promptTokens: 640, cachedPromptTokens, completionTokens: 10 } });
    place(placer, [engine], 1);
    expect(engine.load.tokensInFlight).toBeLessThan(200);
  });

  it('is not held against it while the prefix is still being computed for another call', () => {
    const { placer } = aPlacer();
    const [engine] = someEngines(1);
    if (!engine) throw new Error('no engine');
    serve(placer, [engine], TOKENS, 7);
    const [first, second] = [place(placer, [engine], 1), place(placer, [engine], 1)];
    second.end({ kind: 'whole', usage: { promptTokens: TOKENS, cachedPromptTokens: 0, completionTokens: 1 } });
    first.end(DROPPED);
    place(placer, [engine], 7);
    expect(engine.load.tokensInFlight).toBeLessThan(200);
  });

  it('stands when the count is only a little lower, since tokens are not all of one length', () => {
    const { placer } = aPlacer();
    const [engine] = someEngines(1);
    if (!engine) throw new Error('no engine');
    serve(placer, [engine], 0, 1);
    serve(placer, [engine], 0, 2);
    serve(placer, [engine], TOKENS * 0.95, 2);
    place(placer, [engine], 1);
    expect(engine.load.tokensInFlight).toBeLessThan(200);
  });

  it('means nothing where an engine never counts cached tokens', () => {
    const { placer } = aPlacer();
    const [engine] = someEngines(1);
    if (!engine) throw new Error('no engine');
    for (let time = 0; time < 3; time += 1) serve(placer, [engine], 0);
    place(placer, [engine]);
    expect(engine.load.tokensInFlight).toBeLessThan(200);
  });
});

it('lets an engine of three times the weight carry three times the load', () => {
  const { placer } = aPlacer();
  const [light, heavy] = [anEngine('light'), anEngine('heavy', { weight: 3 })];
  for (let number = 0; number < 400; number += 1) place(placer, [light, heavy], number);
  const share = heavy.load.tokensInFlight / light.load.tokensInFlight;
  expect(share).toBeGreaterThan(2.5);
  expect(share).toBeLessThan(3.5);
});

it('forgets the cache of an engine that was restarted', () => {
  const { placer } = aPlacer();
  const engine = anEngine('engine-1');
  serve(placer, [engine]);
  engine.load.restarted();
  place(placer, [engine]);
  expect(engine.load.tokensInFlight).toBeGreaterThanOrEqual(TOKENS);
});

describe('an engine ten times slower than the others', () => {
  function aSlowFleet() {
    const { placer } = aPlacer();
    const trials: Trial[] = [];
    const engines = someEngines(3, { tryOut: (trial) => void trials.push(trial) });
    for (const [index, engine] of engines.entries())
      for (let number = 0; number < 5; number += 1) {
        const placed = place(placer, [engine], 100 * index + number);
        placed.firstEvent();
        clock.nowMs += index === 0 ? 1_000 : 100;
        placed.end({
          kind: 'whole',
          usage: { promptTokens: TOKENS, cachedPromptTokens: 0, completionTokens: 10 },
        });
      }
    return { placer, engines, slow: engines[0], trials };
  }

  it('gets no calls, not even those whose prefix it has', () => {
    const { placer, engines, slow } = aSlowFleet();
    for (let number = 0; number < 50; number += 1) expect(place(placer, engines, number).engine).not.toBe(slow);
  });

  it('is not told by clients that read slowly, as long as one reads as fast as it can', () => {
    const { placer, engines, slow } = aSlowFleet();
    if (!slow) throw new Error('no engine');
    const placed = place(placer, [slow], 1);
    placed.firstEvent();
    clock.nowMs += 100;
    placed.end({
      kind: 'whole',
      usage: { promptTokens: TOKENS, cachedPromptTokens: TOKENS, completionTokens: 10 },
    });
    expect(place(placer, engines, 1).engine).toBe(slow);
  });

  it('is back once the stream of a trial was quick', () => {
    const { placer, engines, slow, trials } = aSlowFleet();
    place(placer, engines, 1);
    const [trial] = trials;
    trial?.onFirstEvent();
    clock.nowMs += 160;
    trial?.end(16);
    expect(place(placer, engines, 1).engine).toBe(slow);
  });

  it('is not one that only had no stream come all at once, as one does that was held up on its way', () => {
    const { placer, engines } = aSlowFleet();
    const [, heldUp, usual] = engines;
    if (!heldUp || !usual) throw new Error('no engine');
    const placed = place(placer, [heldUp], 1);
    placed.firstEvent();
    clock.nowMs += 1;
    placed.end({ kind: 'whole', usage: { promptTokens: TOKENS, cachedPromptTokens: 0, completionTokens: 10 } });
    expect(place(placer, [heldUp, usual], 1).decision.candidates).toHaveLength(2);
  });

  it('gets all calls where it is the only one', () => {
    const { placer, slow } = aSlowFleet();
    if (!slow) throw new Error('no engine');
    expect(place(placer, [slow]).engine).toBe(slow);
  });
});

describe('first events', () => {
  /** Three engines, each of which has begun four streams; the first took so many times as long for it. */
  function aFleet(times: number) {
    const { placer } = aPlacer();
    const trials: Trial[] = [];
    const engines = someEngines(3, { tryOut: (trial) => void trials.push(trial) });
    const [first] = engines;
    if (!first) throw new Error('no engine');
    const begin = (engine: Engine, ms: number, number: number) => {
      const placed = place(placer, [engine], number);
      clock.nowMs += ms;
      placed.firstEvent();
      placed.end(DROPPED);
    };
    for (const [index, engine] of [...engines.entries()].reverse())
      for (let number = 0; number < 4; number += 1)
        begin(engine, engine === first ? 450 * times : 450, 100 * index + number);
    return { placer, engines, first, begin, trials };
  }

  it('that take ten times as long as elsewhere keep calls away, even those whose prefix is there', () => {
    const { placer, engines, first } = aFleet(10);
    for (let number = 0; number < 50; number += 1) expect(place(placer, engines, number).engine).not.toBe(first);
  });

  it('that take twice as long do not', () => {
    const { placer, engines, first } = aFleet(2);
    expect(place(placer, engines, 1).engine).toBe(first);
  });

  it('that are quick again bring calls back at once', () => {
    const { placer, engines, first, begin } = aFleet(10);
    begin(first, 450, 50);
    expect(place(placer, engines, 1).engine).toBe(first);
  });

  it('that do not come keep further calls away, and those that come bring them back', () => {
    const { placer, engines, first } = aFleet(1);
    const silent = place(placer, [first], 1);
    clock.nowMs += 5_000;
    expect(place(placer, engines, 1).engine).not.toBe(first);
    silent.firstEvent();
    expect(place(placer, engines, 2).engine).toBe(first);
  });

  it('are not waited for where a whole answer comes', () => {
    const { placer, engines, first } = aFleet(1);
    placer.place([first], { ...aCall(1), isStream: false });
    clock.nowMs += 5_000;
    expect(place(placer, engines, 1).engine).toBe(first);
  });

  describe('of a slow engine', () => {
    /** A fleet whose first engine is slow, and the trial that it has been sent. */
    function aTriedFleet(windowTokens?: number) {
      const fleet = aFleet(10);
      const { placer, engines, first, trials } = fleet;
      first.served = { names: ['engine-name'], windowTokens };
      place(placer, engines, 1);
      const [trial] = trials;
      if (!trial) throw new Error('no trial');
      return {
        trial,
        trials,
        first,
        placer,
        answerAfter(ms: number) {
          clock.nowMs += ms;
          trial.onFirstEvent();
          trial.end(16);
        },
        /** Places a call after this time. The slow engine has its prompt. */
        placeAfter(ms: number) {
          clock.nowMs += ms;
          return place(placer, engines, 1).engine;
        },
      };
    }

    it('are looked for with a call of the router’s own, and with one at a time', () => {
      const { trials, placeAfter, first } = aTriedFleet();
      for (let call = 0; call < 10; call += 1) expect(placeAfter(60_000)).not.toBe(first);
      expect(trials).toHaveLength(1);
    });

    it('bring calls back when one of those is as quick as calls elsewhere', () => {
      const { answerAfter, placeAfter, first } = aTriedFleet();
      answerAfter(140);
      expect(placeAfter(0)).toBe(first);
    });

    it('are looked for again when it is not, in a tenth of the time at most', () => {
      const { trials, answerAfter, placeAfter, first } = aTriedFleet();
      answerAfter(1_400);
      expect(placeAfter(0)).not.toBe(first);
      placeAfter(12_599);
      expect(trials).toHaveLength(1);
      placeAfter(1);
      expect(trials).toHaveLength(2);
    });

    it.each<[string, (trial: Trial) => void]>([
      ['is refused', (trial) => trial.end(undefined)],
      ['breaks off', (trial) => [trial.onFirstEvent(), trial.end(undefined)]],
      ['is too short', (trial) => [trial.onFirstEvent(), trial.end(7)]],
      ['is not heard to begin', (trial) => trial.end(16)],
    ])('are left to clients’ calls when a trial %s, which tells nothing', (_why, goes) => {
      const { trial, trials, placeAfter, first } = aTriedFleet();
      expect(first.load.isSlow).toBe(true);
      goes(trial);
      expect(placeAfter(0)).toBe(first);
      expect(first.load.isSlow).toBe(false);
      expect(trials).toHaveLength(1);
    });

    it('are looked for with tokens that count there until they end', () => {
      const { trial, first } = aTriedFleet();
      expect(first.load.tokensInFlight).toBe(1_016);
      trial.end(undefined);
      trial.end(undefined);
      expect(first.load.tokensInFlight).toBe(0);
    });

    it('are looked for with a prompt that fits', () => {
      expect(aTriedFleet(1_025).trial).toMatchObject({ promptTokens: 512, outputTokens: 16 });
    });
  });
});

it('follows each conversation by its prompt alone: what clients ask for by prompt_cache_key', () => {
  const [placer, engines] = [new Placer({ nowMs: () => clock.nowMs, random: () => 0.5 }), someEngines(8)];
  // Each has a head that all have, as agents send it, and a tail of its own that grows by a turn.
  const head = Buffer.alloc(BYTES, 'tools and system ');
  const promptOf = (conversation: number, turn: number) =>
    Buffer.concat([
      head,
      ...Array.from({ length: turn + 1 }, (_, at) => Buffer.alloc(2_048, `${conversation}.${at} `)),
    ]);
  const last = new Map<number, Engine>();
  let [followed, later] = [0, 0];
  for (let turn = 0; turn < 6; turn += 1)
    for (let conversation = 0; conversation < 200; conversation += 1) {
      const prompt = promptOf(conversation, turn);
      const placed = placer.place(
        engines,
        aPlacement({
          prefixHashes: hashPrefix('salt', prompt),
          promptBytes: prompt.length,
          estimatedPromptTokens: prompt.length / 4,
        }),
      );
      if (!placed) throw new Error('not placed');
      const before = last.get(conversation);
      later += before ? 1 : 0;
      followed += before === placed.engine ? 1 : 0;
      last.set(conversation, placed.engine);
      const counted = {
        promptTokens: prompt.length / 4,
        cachedPromptTokens: before ? BYTES / 4 : 0,
        completionTokens: 10,
      };
      placed.firstEvent();
      placed.end({ kind: 'whole', usage: counted });
    }
  expect([followed, later]).toEqual([1_000, 1_000]);
});
