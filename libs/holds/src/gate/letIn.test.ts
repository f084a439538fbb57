import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { aKeyRecord } from '@turnpike/internal-api/aKeyRecord';
import { aSilentLogger } from '@turnpike/logging/aSilentLogger';
import { until } from '@turnpike/test-support/until';
import { v7 as uuidv7 } from 'uuid';
import { type OpenedRedis, openTestRedis } from '../../test/openTestRedis.ts';
import { type CallEndings, createCallEndings } from '../call/endCall.ts';
import { createGiveBack } from '../call/giveBack.ts';
import { PendingCalls } from '../call/pendingCalls.ts';
import { Standing } from '../redis/standing.ts';
import { type AdmitRequest, createAdmit } from './admit.ts';
import { createLetIn, type LetInOptions } from './letIn.ts';

let opened: OpenedRedis;
let standing: Standing;
let pending: PendingCalls;
beforeAll(async () => {
  opened = await openTestRedis();
});
afterAll(() => opened.close());
beforeEach(() => {
  standing = new Standing();
  standing.begin(opened.session, Number.POSITIVE_INFINITY);
  standing.open();
  pending = new PendingCalls();
});

const aGiveBack = (endings: Pick<CallEndings, 'release'>) =>
  createGiveBack({ endings, standing, leaseMs: 0, log: aSilentLogger() });
const aLetIn = (parts: Partial<LetInOptions> = {}) =>
  createLetIn({
    admit: createAdmit(opened.redis, { standing, owner: 'router-1' }),
    giveBack: aGiveBack(createCallEndings(opened.redis)),
    pending,
    standing,
    ...parts,
  });

async function aRequest(): Promise<AdmitRequest> {
  const key = aKeyRecord();
  await opened.credit(key.workspace.workspaceId, 10_000n);
  return { callId: uuidv7(), key, holdNanoUsd: 100n, estimatedPromptTokens: 1, unknownEventJson: '{}' };
}
const heldFor = async ({ key }: AdmitRequest) => (await opened.walletOf(key.workspace.workspaceId)).held;

it('has what it lets in put back with all others from then on', async () => {
  const request = await aRequest();
  const admission = await aLetIn()(request);
  expect(admission).toMatchObject({ outcome: 'admitted', hold: { callId: request.callId, holdNanoUsd: 100n } });
  expect([...pending.held]).toEqual([admission.outcome === 'admitted' && admission.hold]);
});

it.each<[string, () => void]>([
  ['has lapsed', () => standing.end()],
  ['is another one by now', () => standing.begin({ mark: opened.mark, token: 'newer' }, Number.POSITIVE_INFINITY)],
  ['has lapsed by the clock, as of a process that was frozen', () => standing.renew(performance.now() - 1)],
])('lets no call in whose session %s when the answer comes, and gives its hold back', async (_which, change) => {
  const request = await aRequest();
  const letIn = aLetIn({
    async admit(asked) {
      const admission = await createAdmit(opened.redis, { standing, owner: 'router-1' })(asked);
      expect(await heldFor(request)).toBe(100n);
      change();
      return admission;
    },
  });
  expect(await letIn(request)).toEqual({ outcome: 'closed' });
  await until('the hold is released', async () => (await heldFor(request)) === 0n);
  expect(pending.isEmpty).toBe(true);
});

it('has Redis looked at where it is another one', async () => {
  let looks = 0;
  standing.watch(() => {
    looks += 1;
  });
  expect(await aLetIn({ admit: async () => ({ outcome: 'closed' }) })(await aRequest())).toEqual({ outcome: 'closed' });
  expect([standing.isOpen, looks]).toEqual([false, 1]);
});

describe('when Redis gives no decision in time', () => {
  const admit = async (request: AdmitRequest): Promise<never> => {
    // It does so all the same.
    await createAdmit(opened.redis, { standing, owner: 'router-1' })(request);
    throw new Error('Command timed out');
  };

  it('gives back what Redis may yet admit', async () => {
    const request = await aRequest();
    await expect(aLetIn({ admit })(request)).rejects.toThrow('timed out');
    await until('the hold is released', async () => (await heldFor(request)) === 0n);
    expect([pending.isEmpty, standing.session]).toEqual([true, opened.session]);
  });

  it('ends its session where that cannot be given back: a sweeper takes no hold of a live one', async () => {
    const giveBack = aGiveBack({ release: () => Promise.reject(new Error('Redis is away')) });
    await expect(aLetIn({ admit, giveBack })(await aRequest())).rejects.toThrow('timed out');
    await until('the session is over', () => standing.session === undefined);
  });
});
