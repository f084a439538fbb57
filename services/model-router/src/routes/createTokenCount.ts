import { callingKey } from '@turnpike/authentication/keyGuard';
import { ApiError } from '@turnpike/public-api/apiError';
import { readBody } from '@turnpike/request-reading/body/readBody';
import type { RequestHandler } from 'express';
import type { EngineFault, InferenceFault } from '../api/inferenceFault.ts';
import { COUNTED_MESSAGES } from '../request/messagesRequest.ts';
import { type InferenceDependencies, isOfTheKey, resolveModel } from './createInference.ts';

/**
 * POST /v1/messages/count_tokens: the gates up to the model, then an engine's count of the prompt. Nothing runs and nothing is charged,
 * so a key has an allowance of such counts.
 */
export function createTokenCount({ catalog, authenticator, answers }: InferenceDependencies): RequestHandler {
  const { bodies, refusedBodies, tokenCounts, admission, dependencies: answering } = answers;
  const { countPromptTokens } = admission;
  const { metrics } = answering;
  return async (req, res) => {
    const key = callingKey(res);
    const room = bodies.open(key.keyId);
    try {
      refusedBodies.check(key.keyId);
      tokenCounts.check(key.keyId);
      const { limits } = COUNTED_MESSAGES;
      const request = await COUNTED_MESSAGES.parse(await readBody(req, limits, room));
      const { model } = resolveModel(request, key, { catalog, authenticator, engines: answering.engines });
      tokenCounts.take(key.keyId, request.body.bytes.length);
      const { workspaceId } = key.workspace;
      const tokens = await countPromptTokens(request, model, { keyId: key.keyId, workspaceId });
      if (tokens === undefined) throw new ApiError<EngineFault>({ kind: 'no_healthy_engine' });
      res.json({ input_tokens: tokens });
    } catch (error) {
      const fault = error instanceof ApiError ? (error.fault as InferenceFault) : undefined;
      if (isOfTheKey(fault)) refusedBodies.take(key.keyId, room.bytes);
      if (fault?.kind === 'key_bound_reached') metrics.keyBoundHit(fault.bound, key.keyId);
      throw error;
    } finally {
      room.close();
    }
  };
}
