import { describe, expect, it } from '@jest/globals';
import { aSequence } from '../../test/support/aSequence.ts';
import { engineSchema } from '../config.ts';
import { Engine } from './engine.ts';
import { VirtualClock } from './virtualClock.ts';

const STEP = { timeModel: 'batch', stepMs: 6, stepMsPerRunning: 0.5, stepMsPerPrefillToken: 0.02 };

function anEngine(fields: object = {}) {
  const clock = new VirtualClock();
  const config = engineSchema.parse({ port: 1, servedModelNames: ['m'], maxModelLen: 4_096, ...STEP, ...fields });
  return { clock, engine: new Engine(config, clock) };
}

describe('the batch model', () => {
  it('takes t0 + a × running + b × prefill tokens for a step, in which every choice gets a token', () => {
    const { clock, engine } = anEngine();
    const sequences = [aSequence({ promptTokens: 100 }), aSequence({ promptTokens: 50, word: 'b' })];
    for (const sequence of sequences) engine.submit(sequence);
    const counts = () => sequences.map(({ generated }) => generated.length);
    clock.advance(6 + 2 * 0.5 + 150 * 0.02 - 0.1);
    expect(counts()).toEqual([0, 0]);
    clock.advance(0.1);
    expect(counts()).toEqual([1, 1]);
    clock.advance(6 + 2 * 0.5 - 0.1);
    expect(counts()).toEqual([1, 1]);
    clock.advance(0.2);
    expect(counts()).toEqual([2, 2]);
  });

  it('computes a long prompt in chunks of the token budget, which slows down the others', () => {
    const { clock, engine } = anEngine({ maxNumBatchedTokens: 101, stepMsPerPrefillToken: 1 });
    const [short, long] = [aSequence({ tokens: 50 }), aSequence({ promptTokens: 250, word: 'b' })];
    engine.submit(short);
    clock.advance(6 + 0.5 + 20);
    expect(short.generated).toHaveLength(1);
    engine.submit(long); // joins when the step that runs has ended
    clock.advance(6.5);
    const chunks = [100, 100, 50];
    for (const [done, chunk] of chunks.entries()) {
      expect([short.generated.length, long.generated.length]).toEqual([2 + done, 0]);
      clock.advance(6 + 2 * 0.5 + chunk);
    }
    expect([short.generated.length, long.generated.length]).toEqual([5, 1]);
  });

  it('computes only what is not in the prefix cache', () => {
    const { clock, engine } = anEngine({ stepMsPerPrefillToken: 1 });
    engine.submit(aSequence({ promptTokens: 100 }));
    clock.advance(1_000);
    const again = aSequence({ promptTokens: 100 });
    engine.submit(again);
    clock.advance(6.5 + 3);
    expect(again.generated).toHaveLength(0);
    clock.advance(1); // 4 of 100 tokens are computed
    expect([again.cachedTokens, again.generated.length]).toEqual([96, 1]);
  });

  it('runs maxNumSeqs at once and the rest in order of arrival', () => {
    const { clock, engine } = anEngine({ maxNumSeqs: 1 });
    const [first, second] = [aSequence(), aSequence({ word: 'b' })];
    engine.submit(first);
    engine.submit(second);
    clock.advance(33);
    expect([first.finishReason, second.generated.length]).toEqual(['stop', 0]);
    clock.advance(8);
    expect(second.generated).toHaveLength(1);
  });

  it('preempts the youngest when the cache is full, pauses it, and loses none of its tokens', () => {
    const { clock, engine } = anEngine({ maxModelLen: 64, numKvBlocks: 5 });
    const sequences = [aSequence({ tokens: 40 }), aSequence({ tokens: 40, word: 'b' })];
    for (const sequence of sequences) engine.submit(sequence);
    clock.advance(5_000);
    expect(engine.metrics.preemptions).toBeGreaterThan(0);
    expect(sequences.map(({ generated }) => generated.length)).toEqual([40, 40]);
    expect(engine.kvCacheUsage).toBe(0);
  });

  it('multiplies everything by slowFactor', () => {
    const { clock, engine } = anEngine({ slowFactor: 10 });
    const sequence = aSequence();
    engine.submit(sequence);
    clock.advance(68);
    expect(sequence.generated).toHaveLength(0);
    clock.advance(1);
    expect(sequence.generated).toHaveLength(1);
  });

  it('follows the times that a request names, and rests while nobody is due', () => {
    const { clock, engine } = anEngine();
    const slow = aSequence({ timeToFirstTokenMs: 1_000, interTokenMs: 100 });
    engine.submit(slow);
    clock.advance(999);
    expect(slow.generated).toHaveLength(0);
    clock.advance(8);
    expect(slow.generated).toHaveLength(1);
    const quick = aSequence({ word: 'b', tokens: 3 });
    engine.submit(quick);
    clock.advance(30);
    expect([slow.generated.length, quick.finishReason]).toEqual([1, 'stop']);
  });

  it('holds while paused, and goes on where it stood', () => {
    const { clock, engine } = anEngine();
    const sequence = aSequence({ tokens: 100 });
    engine.submit(sequence);
    clock.advance(10);
    engine.pause();
    clock.advance(10_000);
    expect(sequence.generated).toHaveLength(1);
    engine.resume();
    clock.advance(4);
    expect(sequence.generated).toHaveLength(2);
  });

  it('loses no step to a wake that comes late', () => {
    const { clock, engine } = anEngine();
    const [first, second] = [aSequence({ tokens: 100 }), aSequence({ tokens: 100, word: 'b' })];
    engine.submit(first);
    clock.advance(7);
    clock.freeze(() => clock.advance(65)); // ten steps that nobody could take in time
    engine.submit(second);
    clock.advance(0);
    expect(first.generated).toHaveLength(11);
    clock.advance(13.7); // the step that runs, then one with its own prompt
    expect(second.generated).toHaveLength(0);
    clock.advance(0.2);
    expect(second.generated).toHaveLength(1);
  });

  it('can be left and entered while choices run', () => {
    const { clock, engine } = anEngine({ interTokenMs: 10 });
    const sequence = aSequence({ tokens: 100 });
    engine.submit(sequence);
    clock.advance(10);
    engine.configure({ timeModel: 'constant' });
    clock.advance(100);
    expect(sequence.generated.length).toBeGreaterThanOrEqual(10);
    engine.configure({ timeModel: 'batch' });
    clock.advance(2_000);
    expect(sequence.generated).toHaveLength(100);
  });
});
