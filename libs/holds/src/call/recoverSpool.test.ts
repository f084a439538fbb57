import { rm } from 'node:fs/promises';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { toUsageRecordedJson } from '@turnpike/events/usageRecorded';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { aTemporaryFolder } from '@turnpike/test-support/folders';
import { recoverSpool } from './recoverSpool.ts';

let dir: string;
let alerts: string[];
beforeEach(async () => {
  dir = await aTemporaryFolder();
  alerts = [];
});
afterEach(() => rm(dir, { recursive: true }));

const takeUp = () =>
  recoverSpool({
    dir,
    maxBytes: 1_000_000,
    metrics: { alerted: (kind) => void alerts.push(kind) },
    log: aSilentLogger(),
  });

it('finds each call that the process before had ended, once, and what nobody can read apart', async () => {
  const events = [aUsageRecorded(), aUsageRecorded()];
  const before = await takeUp();
  expect(before.left).toEqual({ calls: [], unreadable: [] });
  for (const event of [...events, ...events]) await before.spool.append(event.callId, toUsageRecordedJson(event));
  await before.spool.append('unreadable', '{"version":99}');

  const { spool, left } = await takeUp();
  expect(left.calls).toEqual(events.map((event) => ({ event, json: toUsageRecordedJson(event) })));
  expect(left.unreadable).toEqual([{ id: expect.any(String), json: '{"version":99}' }]);
  expect(alerts).toEqual(['unreadable_call']);

  for (const { callId } of events) spool.release(callId);
  for (const { id } of left.unreadable) spool.release(id);
  expect(spool.waitingBytes).toBe(0);
  await Promise.all([before.spool.close(), spool.close()]);
  expect((await takeUp()).left).toEqual({ calls: [], unreadable: [] });
});
