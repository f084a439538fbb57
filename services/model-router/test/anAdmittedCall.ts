import { randomUUID } from 'node:crypto';
import { noSpan } from '@turnpike/telemetry/callSpan';
import { v7 as uuidv7 } from 'uuid';
import type { HoldTerms } from '../src/money/call/pendingCalls.ts';
import { type AdmittedCall, toUnknownEventJson } from '../src/money/call/toEvent.ts';
import { createAdmit } from '../src/money/gate/admit.ts';
import type { Standing } from '../src/money/redis/standing.ts';
import { aKeyRecord } from './aKeyRecord.ts';
import { aPricedModel } from './aPricedModel.ts';
import type { OpenedRedis } from './openTestRedis.ts';

/** A call of a new workspace with ample credit, or of one that a test has put on the books, admitted and held in Redis. */
export async function anAdmittedCall(
  opened: OpenedRedis,
  {
    standing = opened.standing,
    routerId = 'router-1',
    holdNanoUsd = 1_000_000n,
    workspaceId: known,
  }: { standing?: Standing; routerId?: string; holdNanoUsd?: bigint; workspaceId?: string } = {},
): Promise<{ call: AdmittedCall; terms: HoldTerms }> {
  const workspaceId = known ?? `ws_${randomUUID()}`;
  const key = aKeyRecord({ workspace: { workspaceId } });
  if (known === undefined) await opened.credit(workspaceId, 10n ** 12n);
  const call: AdmittedCall = {
    callId: uuidv7(),
    keyId: key.keyId,
    workspaceId,
    region: 'us',
    operation: 'chat',
    model: aPricedModel(),
    priceVersion: 7,
    images: 0,
    holdNanoUsd,
    isStream: true,
    span: noSpan,
  };
  const admission = await createAdmit(opened.redis, { standing, routerId })({
    callId: call.callId,
    key,
    holdNanoUsd,
    estimatedPromptTokens: 10,
    unknownEventJson: toUnknownEventJson(call),
  });
  if (admission.outcome !== 'admitted') throw new Error(`call was ${admission.outcome}`);
  const { admittedAtMs, session } = admission;
  return { call, terms: { admittedAtMs, session, estimatedPromptTokens: 10, rpm: key.rpm, tpm: key.tpm } };
}
