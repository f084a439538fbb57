import { ApiError } from '@turnpike/api-errors/apiError';
import type { Authenticator } from '@turnpike/authentication/createAuthenticator';
import { callerOf } from '@turnpike/authentication/keyGuard';
import { spanOf } from '@turnpike/http-service/observeRequests';
import { toRequestLog } from '@turnpike/http-service/toRequestLog';
import type { Logger } from '@turnpike/logging/createLogger';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import type { RequestHandler } from 'express';
import { v7 as uuidv7 } from 'uuid';
import { type AdmitCallDependencies, admitCall } from '../admission/admitCall.ts';
import type { CatalogFollower } from '../catalog/followCatalog.ts';
import { getModel, type ModelFault } from '../catalog/getModel.ts';
import type { EngineRegistry } from '../engines/engineRegistry.ts';
import { hashPrefix } from '../engines/prefixIndex.ts';
import { type AdmittedCall, type CallBook, toUnknownEventJson } from '../settlement/callBook.ts';
import type { Spool } from '../settlement/spool.ts';
import { answerWhole } from '../stream/answerWhole.ts';
import type { StreamTimeouts } from '../stream/callContext.ts';
import { streamAnswer } from '../stream/streamAnswer.ts';
import type { createByteBudget } from '../wire/byteBudget.ts';
import type { AdmissionFault, EngineFault } from '../wire/chatFault.ts';
import type { InferenceRequest } from '../wire/inferenceRequest.ts';
import { toRateLimitHeaders } from '../wire/rateLimitHeaders.ts';
import { type BodyLimits, type JsonBody, readBody } from '../wire/readBody.ts';

export interface InferenceDependencies {
  authenticator: Authenticator;
  catalog: CatalogFollower;
  engines: EngineRegistry;
  admission: AdmitCallDependencies;
  callBook: CallBook;
  spool: Spool;
  cacheSaltOf: (workspaceId: string) => string;
  region: 'us' | 'eu';
  timeouts: StreamTimeouts;
  metrics: InferenceMetrics;
  /** Memory for the bodies of all calls under way. */
  bodies: ReturnType<typeof createByteBudget>;
  log: Logger;
}

/** What tells one inference operation from another, from the client's side. */
export interface InferenceOperation {
  parse(body: JsonBody): InferenceRequest;
  limits: BodyLimits;
}

/** An inference call: the gates in their order (decisions, Order of the gates), then the engine, streamed or whole. */
export function createInference(
  dependencies: InferenceDependencies,
  { parse, limits }: InferenceOperation,
): RequestHandler {
  const { authenticator, engines, callBook, spool, cacheSaltOf, region, timeouts, metrics, bodies, log } = dependencies;
  return async (req, res) => {
    const receivedAt = performance.now();
    const span = spanOf(res);
    const room = bodies.open();
    res.once('close', () => room.close());
    const { authorization } = req.headers;
    const key = callerOf(res);
    const callId = uuidv7();
    res.setHeader('x-router-call-id', callId);
    const request = parse(await readBody(req, limits, room));
    const { model, version } = resolveModel(dependencies, request);
    if (spool.isFull) throw new ApiError<AdmissionFault>({ kind: 'admission_unavailable' });

    const { workspaceId } = key.workspace;
    const toCall = (holdNanoUsd: bigint): AdmittedCall => ({
      callId,
      keyId: key.keyId,
      workspaceId,
      region,
      operation: request.operation,
      model,
      priceVersion: version,
      images: request.prompt.images,
      holdNanoUsd,
      isStream: request.isStream,
      span,
    });
    const { admittedAtMs, bound, rateLimit } = await admitCall(dependencies.admission, {
      callId,
      key,
      authenticateAgain: () => authenticator.authenticate(authorization),
      request,
      model,
      unknownEventJson: ({ worstCaseNanoUsd }) => toUnknownEventJson(toCall(worstCaseNanoUsd)),
    });
    const call = callBook.open(toCall(bound.worstCaseNanoUsd), admittedAtMs);
    const headers = toRateLimitHeaders(rateLimit);
    for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);

    const cacheSalt = cacheSaltOf(workspaceId);
    const run = request.isStream ? streamAnswer : answerWhole;
    const context = {
      request,
      model,
      call,
      res,
      headers,
      placement: {
        prefixHashes: hashPrefix(`${model.id} ${cacheSalt}`, promptBytesOf(request)),
        promptTokens: bound.estimatedPromptTokens,
      },
      maxOutputTokens: bound.outputTokens,
      cacheSalt,
      engines,
      timeouts,
      span,
      metrics,
      receivedAt,
      log: toRequestLog(log, res),
    };
    try {
      await run(context);
    } catch (error) {
      // A fault has ended the call; for what nobody foresaw this does, or its hold would be renewed for ever.
      await call.end({ status: 'failure', reason: 'unforeseen' });
      if (!(error instanceof ApiError) && !res.headersSent) res.setHeader('x-should-retry', 'false');
      throw error;
    }
  };
}

/** Gate 3: the model, its price version, and whether anything could serve it now. */
function resolveModel({ catalog, engines }: InferenceDependencies, request: InferenceRequest) {
  const current = catalog.current();
  if (!current) throw new ApiError<AdmissionFault>({ kind: 'catalog_unavailable' });
  const model = getModel(current, request.model);
  request.checkModel(model);
  const configured = engines.findEngines(model);
  if (configured.length === 0) throw new ApiError<ModelFault>({ kind: 'model_without_capacity', model: model.id });
  if (!configured.some(({ isHealthy }) => isHealthy)) throw new ApiError<EngineFault>({ kind: 'no_healthy_engine' });
  return { model, version: current.version };
}

/** The bytes a prompt cache would see first: tools, then messages, as templates render them. */
function promptBytesOf({ body, prompt }: InferenceRequest): Buffer {
  const bytesOf = (names: string[]): Buffer[] =>
    body.members
      .filter(({ key }) => names.includes(key))
      .map(({ valueStart, end }) => body.bytes.subarray(valueStart, end));
  return Buffer.concat([...bytesOf(prompt.templateMembers), ...bytesOf(prompt.textMembers)]);
}
