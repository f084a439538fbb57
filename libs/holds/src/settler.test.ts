import { rm } from 'node:fs/promises';
import { expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { toUsageRecordedJson } from '@turnpike/events/usageRecorded';
import { aSilentLogger } from '@turnpike/logging/createLogger';
import { aTemporaryFolder } from '@turnpike/test-support/folders';
import { until } from '@turnpike/test-support/until';
import { troubleDisk } from '../test/troubleDisk.ts';
import { type EndedCall, PendingCalls } from './call/pendingCalls.ts';
import { Settler } from './holds.ts';
import { SessionState } from './redis/sessionState.ts';
import type { Settlement } from './shardHolds.ts';
import { Spool } from './spool/spool.ts';

const CALL_ID = '0198a7b2-0000-7000-8000-000000000001';

interface Found {
  /** Whether all calls of this owner are to be put back. */
  isReported: boolean;
  /** Calls that are put back alone. */
  restored: string[];
}

/** Ends a call that a settlement finds so, and once it has been put back, finds to have ended. */
async function settle(found: Settlement, meanwhile: (sessionState: SessionState) => void = () => {}): Promise<Found> {
  const sessionState = new SessionState();
  sessionState.begin({ mark: 'mark', token: 'token' }, Number.POSITIVE_INFINITY);
  let isReported = false;
  sessionState.watch(() => {
    isReported = true;
  });
  const restored: string[] = [];
  const settled = Promise.withResolvers<void>();
  const shard = {
    sessionState,
    async settle() {
      meanwhile(sessionState);
      if (found === 'none' && restored.length === 0) return found;
      settled.resolve();
      return found === 'none' ? 'ended' : found;
    },
    restore: async ({ event }: EndedCall) => void restored.push(event.callId),
  };
  const settler = new Settler({
    shardOf: () => shard,
    spool: { append: async () => {}, release: () => {} },
    recorder: { add: () => {} },
    pending: new PendingCalls(),
    log: aSilentLogger(),
  });
  const event = aUsageRecorded({ callId: CALL_ID });
  await settler.settle({ event, json: toUsageRecordedJson(event) });
  await settled.promise;
  await settler.close();
  return { isReported, restored };
}

it.each<[Settlement, boolean]>([
  ['held', false],
  ['ended', false],
  ['released', false],
  ['unlisted', true],
])('a call that is found %s has the router put back all its calls: %s', async (found, isReported) => {
  expect(await settle(found)).toEqual({ isReported, restored: [] });
});

it('puts back alone a call that was dropped while it ran, and settles it', async () => {
  expect(await settle('none')).toEqual({ isReported: false, restored: [CALL_ID] });
});

it('puts back once for all calls that lost their place in the list: not for one of the session before', async () => {
  const another = { mark: 'mark', token: 'another' };
  const found = await settle('unlisted', (sessionState) => sessionState.begin(another, Number.POSITIVE_INFINITY));
  expect(found.isReported).toBe(false);
});

it('ends a call whose disk hangs once Redis has its event, and brings the event to the disk when that answers', async () => {
  const dir = await aTemporaryFolder();
  const disk = await troubleDisk(dir);
  const { spool } = await Spool.open({ dir, maxBytes: 1_000_000, log: aSilentLogger(), idOf: () => CALL_ID });
  const sessionState = new SessionState();
  sessionState.begin({ mark: 'mark', token: 'token' }, Number.POSITIVE_INFINITY);
  const settler = new Settler({
    shardOf: () => ({ sessionState, settle: async () => 'held', restore: async () => {} }),
    spool,
    recorder: { add: () => {} },
    pending: new PendingCalls(),
    log: aSilentLogger(),
  });
  try {
    disk.hanging.add('appendFile');
    const event = aUsageRecorded({ callId: CALL_ID });
    const json = toUsageRecordedJson(event);
    expect(await settler.settle({ event, json })).toBe(true);
    expect(spool.waitingBytes).toBe(0);
    disk.recover();
    await until('the disk has the event, once', () => spool.waitingBytes === Buffer.byteLength(json));
  } finally {
    disk.restore();
    await settler.close();
    await spool.close();
    await rm(dir, { recursive: true });
  }
});
