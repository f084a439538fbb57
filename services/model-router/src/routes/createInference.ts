import type { Authenticator } from '@turnpike/authentication/createAuthenticator';
import { callingKey } from '@turnpike/authentication/keyGuard';
import type { Region } from '@turnpike/config/region';
import { toRequestLog } from '@turnpike/http-service/createHttpApp';
import { newUuidV7 } from '@turnpike/http-service/newUuidV7';
import { noteCall, requestIdOf, spanOf } from '@turnpike/http-service/observeRequests';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import type { CatalogFollower } from '@turnpike/internal-api/transport/followCatalog';
import type { Logger } from '@turnpike/logging/createLogger';
import { ApiError } from '@turnpike/public-api/apiError';
import { CALL_ID_HEADER, RESPONSE_FORMAT_HEADER } from '@turnpike/public-api/headers';
import { readBody } from '@turnpike/request-reading/body/readBody';
import type { TakenBytes } from '@turnpike/request-reading/shares/bodyMemory';
import type { Request, RequestHandler, Response } from 'express';
import { type AnswerOptions, answerCall } from '../answer/answerCall.ts';
import type { AnswerDependencies, Call } from '../answer/call.ts';
import type { Answers } from '../answer/openAnswers.ts';
import type { AnsweredOperation } from '../answer/operations/operations.ts';
import type { AdmissionFault, EngineFault, InferenceFault, ModelFault } from '../api/inferenceFault.ts';
import { type Catalog, getModel, type PricedModel } from '../catalog/catalog.ts';
import { type AdmittedCall, OpenCall, toUnknownEventJson } from '../money/call/openCalls.ts';
import type { UsageBound } from '../money/gate/admitCall.ts';
import { admitCall } from '../money/gate/admitCall.ts';
import type { Money } from '../money/openMoney.ts';
import type { OpenFleet } from '../placement/openFleet.ts';
import type { InferenceRequest } from '../request/inferenceRequest.ts';

export interface InferenceDependencies {
  region: Region;
  catalog: CatalogFollower<Catalog>;
  authenticator: Authenticator;
  money: Pick<Money, 'spool' | 'openCalls'>;
  fleet: Pick<OpenFleet, 'cacheSaltOf'>;
  answers: Answers;
  log: Logger;
}

/**
 * POST of an operation: the gates in their order, then an engine's answer, streamed or whole.
 */
export function createInference(operation: AnsweredOperation, dependencies: InferenceDependencies): RequestHandler {
  const { region, catalog, authenticator, money, fleet, answers, log } = dependencies;
  const { bodies, refusedBodies, admission, dependencies: answering } = answers;

  /** Passes the gates in their order, and opens the call. Throws the fault of the gate that refuses it. */
  async function admit(
    { req, res }: { req: Request; res: Response },
    { key, room }: { key: KeyRecord; room: TakenBytes },
  ): Promise<{ call: Call; options: AnswerOptions }> {
    const receivedAt = performance.now();
    const span = spanOf(res);
    const { authorization } = req.headers;
    const callId = newUuidV7();
    res.setHeader(CALL_ID_HEADER, callId);
    refusedBodies.check(key.keyId);
    const request = await operation.parse(await readBody(req, operation.limits, room));
    const { model, version } = resolveModel(request, key, { catalog, authenticator, engines: answering.engines });
    noteCall(res, { model: model.id });
    if (money.spool.isFull) throw new ApiError<AdmissionFault>({ kind: 'spool_unavailable' });

    answering.queue.checkRoom({ modelId: model.id, keyId: key.keyId, bytes: request.body.bytes.length });

    const { workspaceId } = key.workspace;
    const ids = { callId, keyId: key.keyId, workspaceId };
    const toCall = (bound: UsageBound): AdmittedCall => ({
      ...ids,
      requestId: requestIdOf(res),
      region,
      operation: operation.name,
      model,
      priceVersion: version,
      images: request.prompt.images,
      holdNanoUsd: bound.worstCaseNanoUsd,
      maxTokens: bound.promptTokens + bound.outputTokens,
      isStream: request.isStream,
      span,
    });
    const { bound, rateLimit, hold } = await admitCall(admission, {
      callId,
      key,
      async authenticateAgain() {
        const newer = await authenticator.authenticate(authorization);
        authenticator.assertMayCall(newer, model.id);
        return newer;
      },
      request,
      model,
      unknownEventJson: (known) => toUnknownEventJson(toCall(known)),
    });
    const callLog = (): Logger => toRequestLog(log, res);
    const { fallback } = request.formFor(model);
    if (fallback) {
      res.setHeader(RESPONSE_FORMAT_HEADER, 'json_object');
      span.setAttributes({ 'turnpike.response_format': fallback });
      callLog().info({ model: model.id, responseFormat: fallback }, 'asked for less than the client did');
    }
    const cacheSalt = fleet.cacheSaltOf({ workspaceId, model });
    const open = new OpenCall(toCall(bound), money.openCalls, hold);
    noteCall(res, { call: open });
    const call: Call = {
      ...ids,
      operation,
      request,
      model,
      bound,
      chargeOf: (usage) => open.chargeOf(usage),
      cacheSalt,
      receivedAt,
      span,
      log: callLog,
    };
    return { call, options: { open, room, rateLimit, res } };
  }

  return async (req, res) => {
    const key = callingKey(res);
    const { keyId } = key;
    const room = bodies.open(keyId);
    let isAdmitted = false;
    try {
      const { call, options } = await admit({ req, res }, { key, room });
      isAdmitted = true;
      await answerCall(answering, call, options);
    } catch (error) {
      const fault = error instanceof ApiError ? (error.fault as InferenceFault) : undefined;
      // A body that a gate refuses was read for nothing. Each key has an allowance of such bodies.
      if (!isAdmitted && isOfTheKey(fault)) refusedBodies.take(keyId, room.bytes);
      if (!res.headersSent) res.removeHeader(RESPONSE_FORMAT_HEADER);
      // Another router may admit calls. The client reconnects and reaches a router that is ready.
      if (fault?.kind === 'admission_unavailable' || fault?.kind === 'spool_unavailable') res.shouldKeepAlive = false;
      if (fault?.kind === 'key_bound_reached') answering.metrics.keyBoundHit(fault.bound, keyId);
      throw error;
    } finally {
      // The room stays open after the client leaves, because an engine may still use the body for a non-streaming
      // answer.
      room.close();
    }
  };
}

/** Returns whether a refusal is the key's doing, so that the body counts toward its allowance. */
export const isOfTheKey = (fault: InferenceFault | undefined): boolean => !(fault && NOT_OF_THE_KEY.has(fault.kind));

/** Refusals that are not the key's doing, concern incomplete bodies, or are counted elsewhere. */
const NOT_OF_THE_KEY: ReadonlySet<InferenceFault['kind']> = new Set([
  'body_aborted',
  'body_too_slow',
  'body_unfinished',
  'no_room_for_body',
  'key_bound_reached',
  'catalog_unavailable',
  'model_without_capacity',
  'no_healthy_engine',
  'overloaded',
  'admission_unavailable',
  'spool_unavailable',
  'auth_unavailable',
]);

/**
 * Gate 3 returns the model and its price version. Throws if the model is unknown, the key may not call it, or nothing
 * can serve it now.
 */
export function resolveModel(
  request: InferenceRequest,
  key: KeyRecord,
  {
    catalog,
    authenticator,
    engines,
  }: Pick<InferenceDependencies, 'catalog' | 'authenticator'> & Pick<AnswerDependencies, 'engines'>,
) {
  const { current } = catalog;
  if (!current) throw new ApiError<AdmissionFault>({ kind: 'catalog_unavailable' });
  const model = engines.fitWindow(getModel(current, request.model));
  authenticator.assertMayCall(key, model.id);
  const isServed = (other: PricedModel) =>
    other.state === 'live' && (engines.isConfigured(other) || engines.findEngines(other).length > 0);
  request.checkModel(model, () => current.models.filter(isServed));
  const configured = engines.findEngines(model);
  if (configured.length === 0 && !engines.isConfigured(model))
    throw new ApiError<ModelFault>({ kind: 'model_without_capacity', model: model.id });
  if (!configured.some(({ isHealthy }) => isHealthy)) throw new ApiError<EngineFault>({ kind: 'no_healthy_engine' });
  return { model, version: current.version };
}
