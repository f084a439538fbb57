import { randomUUID } from 'node:crypto';
import { anUnchargedUsageRecorded } from '@turnpike/events/aUsageRecorded';
import { toUsageRecordedJson } from '@turnpike/events/usageRecorded';
import { aKeyRecord } from '@turnpike/internal-api/aKeyRecord';
import type { Hold } from '../src/call/pendingCalls.ts';
import { redisKeys } from '../src/redis/redisKeys.ts';
import type { SessionState } from '../src/redis/sessionState.ts';
import { anOpenSessionState } from './anOpenSessionState.ts';
import { TAG } from './aShard.ts';
import { aShardHolds } from './aShardHolds.ts';
import type { OpenedRedis } from './openTestRedis.ts';

/** Admits a call of a new workspace with ample credit, or of one that a test has set up. */
export async function aHold(
  opened: OpenedRedis,
  {
    sessionState = opened.sessionState,
    owner = 'router-1',
    holdNanoUsd = 1_000_000n,
    workspaceId: known,
    keyId: knownKeyId,
  }: { sessionState?: SessionState; owner?: string; holdNanoUsd?: bigint; workspaceId?: string; keyId?: string } = {},
): Promise<Hold> {
  const workspaceId = known ?? `ws_${randomUUID()}`;
  const key = aKeyRecord({ workspace: { workspaceId }, ...(knownKeyId !== undefined && { keyId: knownKeyId }) });
  if (known === undefined) await opened.credit(workspaceId, 10n ** 12n);
  const { keyId } = key;
  // The event as its writer makes it. The sweeper sets the instants.
  const event = anUnchargedUsageRecorded('unknown', { keyId, workspaceId, holdNanoUsd });
  const admission = await aShardHolds({ redis: opened.redis, sessionState }, { owner }).admit({
    callId: event.callId,
    key,
    holdNanoUsd,
    estimatedPromptTokens: 10,
    unknownEventJson: toUsageRecordedJson({ ...event, startedAtMs: 0, endedAtMs: 0 }),
  });
  if (admission.outcome !== 'admitted') throw new Error(`call was ${admission.outcome}`);
  return admission.hold;
}

/** A hold whose session has lapsed. */
export async function aLapsedHold(
  opened: OpenedRedis,
  fields: { holdNanoUsd?: bigint; workspaceId?: string } = {},
  token = `lapsed ${randomUUID()}`,
): Promise<Hold> {
  const sessionState = anOpenSessionState({ mark: opened.mark, token });
  await opened.redis.set(redisKeys.session(TAG, token), 'router-1');
  const hold = await aHold(opened, { sessionState, ...fields });
  await opened.redis.del(redisKeys.session(TAG, token));
  return hold;
}
