import type { Hold } from '@turnpike/holds/call/pendingCalls';
import { aHold } from '@turnpike/holds/test/aHold';
import type { OpenedRedis } from '@turnpike/holds/test/openTestRedis';
import { noSpan } from '@turnpike/telemetry/callSpan';
import type { AdmittedCall } from '../src/money/call/openCalls.ts';
import { aPricedModel } from './aPricedModel.ts';

/** A call of a new workspace with ample credit, admitted and held in Redis. */
export async function anAdmittedCall(
  opened: OpenedRedis,
  fields: { holdNanoUsd?: bigint } = {},
): Promise<{ call: AdmittedCall; hold: Hold }> {
  const hold = await aHold(opened, fields);
  const { callId, keyId, workspaceId, holdNanoUsd } = hold;
  const call: AdmittedCall = {
    callId,
    keyId,
    workspaceId,
    region: 'us',
    operation: 'chat',
    model: aPricedModel(),
    priceVersion: 7,
    images: 0,
    holdNanoUsd,
    maxTokens: 2_000,
    isStream: true,
    span: noSpan,
  };
  return { call, hold };
}
