import { setTimeout as pause } from 'node:timers/promises';
import type { Cell } from '../cell.ts';

/** Events of 0.7 KB: a little more than a spool of 16 MiB holds. */
const MOST_CALLS = 40_000;
const CALLS_PER_SECOND = 450;

export const cell: Cell = {
  name: 'broker-away',
  group: 'broker',
  breaks: 'the broker is away for longer than the spool of 16 MiB lasts',
  holds: 'at nine tenths of it new calls get 503, before anything is lost; /v1/models goes on; the spool drains',
  eventLog: 'kafka',
  serviceSettings: {},
  async run(context) {
    const { parts } = context.stack;
    await parts.kill('kafka');
    const load = context.startLoad({
      calls: MOST_CALLS,
      perSecond: CALLS_PER_SECOND,
      openAtMost: 200,
      tokens: [1, 1],
      streamShare: 0,
    });
    const isRefused = (): boolean => load.records.some(({ outcome }) => outcome === '503');
    while (!isRefused() && load.sent < MOST_CALLS) await pause(20);
    await pause(500);
    load.stop();
    const calls = await load.done;
    context.check(
      calls.some(({ outcome }) => outcome === '503'),
      'the spool never was full',
    );
    context.checkOutcomes(calls, { ok: true, '503': true });
    const { status } = await context.ask('/models');
    context.check(status === 200, `GET /v1/models answers ${status} while the spool is full`);
    await parts.restart('kafka');
    await context.repaired();
  },
};
