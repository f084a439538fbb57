import { expect, it } from '@jest/globals';
import { aUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { toUsageRecordedJson } from '@turnpike/events/usageRecorded';
import { aSilentLogger } from '@turnpike/logging/aSilentLogger';
import { Standing } from '../redis/standing.ts';
import type { Settlement } from './endCall.ts';
import { PendingCalls } from './pendingCalls.ts';
import { createSettler } from './settleCalls.ts';

/** Ends a call that a settlement finds so; says whether the router's calls are to be put back then. */
async function settle(found: Settlement, meanwhile: (standing: Standing) => void = () => {}): Promise<boolean> {
  const standing = new Standing();
  standing.begin({ mark: 'mark', token: 'token' }, Number.POSITIVE_INFINITY);
  let isReported = false;
  standing.watch(() => {
    isReported = true;
  });
  const settler = createSettler({
    endings: {
      async settle() {
        meanwhile(standing);
        return found;
      },
    },
    spool: { append: async () => {}, release: () => {} },
    recorder: { add: () => {} },
    pending: new PendingCalls(),
    standing,
    log: aSilentLogger(),
  });
  const event = aUsageRecorded();
  await settler.record({ event, json: toUsageRecordedJson(event) });
  await settler.close();
  return isReported;
}

it.each<[Settlement, boolean]>([
  ['held', false],
  ['ended', false],
  ['released', false],
  ['none', true],
  ['unlisted', true],
])('a call that is found %s has the router put back its calls: %s', async (found, isPutBack) => {
  expect(await settle(found)).toBe(isPutBack);
});

it('puts back once for all calls that lost their place in the list: not for one of the session before', async () => {
  const another = { mark: 'mark', token: 'another' };
  expect(await settle('unlisted', (standing) => standing.begin(another, Number.POSITIVE_INFINITY))).toBe(false);
});
