import { createServer, type ServerResponse } from 'node:http';
import { type CallSpan, noSpan } from '@turnpike/telemetry/callSpan';
import express, { type ErrorRequestHandler } from 'express';
import type { CallContext, StreamTimeouts } from '../src/answer/callContext.ts';
import { createToWireError } from '../src/api/chatError.ts';
import type { Engine } from '../src/fleet/engine.ts';
import type { EngineRegistry } from '../src/fleet/engineRegistry.ts';
import type { Placer } from '../src/fleet/placement/placer.ts';
import type { EngineQueue } from '../src/fleet/queue/engineQueue.ts';
import { aChatRequest } from './aChatRequest.ts';
import { anEngineQueue } from './anEngineQueue.ts';
import { anEngineRegistry } from './anEngineRegistry.ts';
import { anOpenCall, type RecordedCall } from './anOpenCall.ts';
import { aFirstPlacer, aPlacement } from './aPlacement.ts';
import { aPricedModel } from './aPricedModel.ts';
import { aSilentLogger } from './aSilentLogger.ts';
import { listenAnywhere } from './listenAnywhere.ts';
import { noMetrics } from './noMetrics.ts';

/** So long that nothing happens but what a test shortens. */
const LONG_MS = 30_000;
const LONG_TIMEOUTS: StreamTimeouts = {
  firstEventMs: LONG_MS,
  betweenEventsMs: LONG_MS,
  wholeMs: LONG_MS,
  streamMs: LONG_MS,
  headersAfterMs: LONG_MS,
  keepAliveMs: LONG_MS,
  slowReaderMs: LONG_MS,
};

const toWireError = createToWireError({ keysPageUrl: 'https://dashboard.example/keys' });

/** One admitted call behind an address: whoever asks there gets its answer. */
export interface ServedCall {
  url: string;
  call: RecordedCall;
  /** The answer's response, once the client has asked. */
  response: () => ServerResponse | undefined;
  close(): void;
}

/** Serves one call with `run`, on engines that are tried in the order given. */
export async function serveCall(
  run: (context: CallContext) => Promise<void>,
  {
    engines,
    fields = { stream: true },
    timeouts = {},
    call = anOpenCall(),
    findEngines = () => engines.slice(),
    registry = anEngineRegistry(findEngines),
    placer = aFirstPlacer(),
    engineQueue = anEngineQueue({ placer }),
    nextCall = () => call,
    span = noSpan,
    keyId = 'key_1',
  }: {
    engines: Engine[];
    /** Of the request's body. */
    fields?: object;
    timeouts?: Partial<StreamTimeouts>;
    call?: RecordedCall;
    findEngines?: () => Engine[];
    registry?: EngineRegistry;
    placer?: Placer;
    engineQueue?: EngineQueue;
    /** For every request one of its own. */
    nextCall?: () => RecordedCall;
    span?: CallSpan;
    keyId?: string;
  },
): Promise<ServedCall> {
  let response: ServerResponse | undefined;
  const app = express();
  app.get('/', async (_req, res) => {
    response = res;
    await run({
      request: aChatRequest(fields),
      model: aPricedModel(),
      call: nextCall(),
      keyId,
      workspaceId: 'ws_1',
      res,
      headers: { 'x-ratelimit-limit-requests': '600' },
      engineQueue,
      placement: aPlacement(),
      maxOutputTokens: 100,
      cacheSalt: 'salt',
      engines: registry,
      span,
      metrics: noMetrics,
      receivedAt: performance.now(),
      timeouts: { ...LONG_TIMEOUTS, ...timeouts },
      log: aSilentLogger(),
    });
  });
  // What is no fault gets a status that no fault has, so that no test takes it for one.
  const onError: ErrorRequestHandler = (error, _req, res, _next) => {
    const { status, body, headers = {} } = toWireError(error) ?? { status: 599, body: { error: String(error) } };
    res.status(status).set(headers).json(body);
  };
  app.use(onError);
  const server = createServer(app);
  const url = await listenAnywhere(server);
  return {
    url,
    call,
    response: () => response,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
