import { describe, expect, it } from '@jest/globals';
import { noMediaMetrics } from '@turnpike/telemetry/noTelemetry';
import { stepJob } from './table/steps.ts';
import { ENDED, OPEN, TRANSITIONS, UNDER_WAY } from './transitions.ts';

const all = Object.entries(TRANSITIONS);
const isEnd = (state: string | undefined): boolean => ENDED.some((each) => each === state);

describe('the transitions of a job', () => {
  it.each(all)('keep an ended job in its state: %s', (_name, { from, to }) => {
    if (from.some(isEnd)) expect([from.every(isEnd), to]).toEqual([true, undefined]);
  });

  it.each(OPEN)('can fail and cancel a job that is %s', (state) => {
    expect([TRANSITIONS.fail.from, TRANSITIONS.cancel.from]).toEqual([
      expect.arrayContaining([state]),
      expect.arrayContaining([state]),
    ]);
  });

  it.each(UNDER_WAY)('count an attempt wherever a job that is %s leaves its replica', (state) => {
    const leaving = all.filter(([, { from, to }]) => from.includes(state) && to !== undefined && !isUnderWay(to));
    expect(leaving.length).toBeGreaterThan(0);
    for (const [, { counts }] of leaving) expect(counts).toBeDefined();
  });

  it('start from the states on the page alone', async () => {
    const row = { jobId: 'job_1', version: 1, state: 'completed', replica: null } as const;
    const given = { db: { query: async () => [], execute: async () => 0 }, metrics: noMediaMetrics };
    await expect(stepJob(given, row, 'retry', { result: 'failed' })).rejects.toThrow('has no transition retry');
  });
});

const isUnderWay = (state: string): boolean => UNDER_WAY.some((each) => each === state);
