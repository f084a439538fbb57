import { describe, expect, it } from '@jest/globals';
import { aSequence } from '../../test/support/aSequence.ts';
import { engineSchema } from '../config.ts';
import { Engine } from './engine.ts';
import { VirtualClock } from './virtualClock.ts';

const TIMES = { timeToFirstTokenMs: 100, interTokenMs: 10 };

function anEngine(fields: object = {}) {
  const clock = new VirtualClock();
  const config = engineSchema.parse({ port: 1, servedModelNames: ['m'], maxModelLen: 4_096, ...TIMES, ...fields });
  return { clock, engine: new Engine(config, clock) };
}

describe('engine', () => {
  it('makes the first token after the time to first token, then one every inter-token time', () => {
    const { clock, engine } = anEngine();
    const sequence = aSequence();
    engine.submit(sequence);
    clock.advance(99);
    expect(sequence.generated).toHaveLength(0);
    clock.advance(1);
    expect(sequence.generated).toHaveLength(1);
    clock.advance(25);
    expect(sequence.generated).toHaveLength(3);
    clock.advance(15);
    expect(sequence.finishReason).toBe('stop');
    expect(sequence.generated).toHaveLength(5);
  });

  it('runs maxNumSeqs at once and the rest in order of arrival', () => {
    const { clock, engine } = anEngine({ maxNumSeqs: 2 });
    const sequences = [aSequence(), aSequence({ tokens: 50 }), aSequence(), aSequence()];
    for (const sequence of sequences) engine.submit(sequence);
    clock.advance(100);
    expect([engine.runningCount, engine.waitingCount]).toEqual([2, 2]);
    clock.advance(140);
    expect(sequences.map((sequence) => sequence.generated.length)).toEqual([5, 15, 1, 0]);
  });

  it('frees the place and the cache blocks of an aborted choice at once', () => {
    const { clock, engine } = anEngine({ maxNumSeqs: 1 });
    const [running, waiting] = [aSequence({ tokens: 500 }), aSequence()];
    engine.submit(running);
    engine.submit(waiting);
    clock.advance(150);
    expect(engine.kvCacheUsage).toBeGreaterThan(0);
    engine.abort(running);
    expect(running.generated).toHaveLength(6);
    expect([engine.runningCount, engine.kvCacheUsage]).toEqual([0, 0]);
    clock.advance(1_000);
    expect(running.generated).toHaveLength(6);
    expect(waiting.finishReason).toBe('stop');
    expect(engine.metrics.finished).toMatchObject({ abort: 1, stop: 1 });
  });

  it('preempts the youngest when the key-value cache is full, and loses none of its tokens', () => {
    const { clock, engine } = anEngine({ maxModelLen: 64, numKvBlocks: 5 });
    const sequences = [aSequence({ tokens: 40 }), aSequence({ tokens: 40 })];
    for (const sequence of sequences) engine.submit(sequence);
    clock.advance(5_000);
    expect(engine.metrics.preemptions).toBeGreaterThan(0);
    expect(sequences.map((sequence) => sequence.generated.length)).toEqual([40, 40]);
    expect(engine.kvCacheUsage).toBe(0);
  });

  it('holds everything while paused and goes on where it stood', () => {
    const { clock, engine } = anEngine();
    const [running, late] = [aSequence({ tokens: 50 }), aSequence()];
    engine.submit(running);
    clock.advance(105);
    engine.pause();
    engine.submit(late);
    clock.advance(10_000);
    expect([running.generated.length, late.generated.length]).toEqual([1, 0]);
    engine.resume();
    clock.advance(5);
    expect(running.generated).toHaveLength(2);
    clock.advance(95);
    expect(late.generated).toHaveLength(1);
  });

  it('shares cached blocks only between equal salts', () => {
    const { clock, engine } = anEngine();
    const cachedOf = (cacheSalt: string) => {
      const sequence = aSequence({ promptTokens: 100, cacheSalt });
      engine.submit(sequence);
      clock.advance(10_000);
      return sequence.cachedTokens;
    };
    expect(['one', 'one', 'two', 'two', 'one'].map(cachedOf)).toEqual([0, 96, 0, 96, 96]);
  });

  it('multiplies its own times by slowFactor, not those a request names', () => {
    const { clock, engine } = anEngine({ slowFactor: 10 });
    const [own, named] = [aSequence(), aSequence({ timeToFirstTokenMs: 50, interTokenMs: 5 })];
    engine.submit(own);
    engine.submit(named);
    clock.advance(999);
    expect([own.generated.length, named.finishReason]).toEqual([0, 'stop']);
    clock.advance(101);
    expect(own.generated).toHaveLength(2);
  });

  it('always computes at least one token of the prompt', () => {
    const { clock, engine } = anEngine();
    for (const cachedTokens of [0, 16]) {
      const sequence = aSequence({ promptTokens: 32 });
      engine.submit(sequence);
      clock.advance(10_000);
      expect(sequence.cachedTokens).toBe(cachedTokens);
    }
  });
});
