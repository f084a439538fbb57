import { createServer, type ServerResponse } from 'node:http';
import { type BodyMemory, createBodyMemory } from '@turnpike/request-reading/shares/bodyMemory';
import { type CallSpan, noSpan } from '@turnpike/telemetry/callSpan';
import express, { type ErrorRequestHandler } from 'express';
import { answerCall } from '../src/answer/answerCall.ts';
import type { AnswerTimeouts } from '../src/answer/call.ts';
import { OpenStreams } from '../src/answer/chunks/clientStream.ts';
import { createToWireError } from '../src/api/inferenceError.ts';
import type { Engine } from '../src/engines/engine.ts';
import type { EngineRegistry } from '../src/engines/engineRegistry.ts';
import type { EngineQueue } from '../src/placement/engineQueue.ts';
import type { Placer } from '../src/placement/placer.ts';
import { aCall, answerDependencies, LONG_TIMEOUTS, RATE_LIMIT } from './aCall.ts';
import { aChatRequest } from './aChatRequest.ts';
import { anEngineQueue } from './anEngineQueue.ts';
import { anEngineRegistry } from './anEngineRegistry.ts';
import { anOpenCall, type RecordedCall } from './anOpenCall.ts';
import { aFirstPlacer } from './aPlacement.ts';
import { listenAnywhere } from './listenAnywhere.ts';

const toWireError = createToWireError({ keysPageUrl: 'https://dashboard.example/keys' });

/** One admitted call behind an address: whoever asks there gets its answer. */
export interface ServedCall {
  url: string;
  call: RecordedCall;
  /** The answer's response, once the client has asked. */
  response: () => ServerResponse | undefined;
  close(): void;
}

/** Serves one call, streamed unless its fields say otherwise, on engines that are tried in the order given. */
export async function serveCall({
  engines,
  fields = { stream: true },
  timeouts = {},
  call = anOpenCall(),
  findEngines = () => engines.slice(),
  registry = anEngineRegistry(findEngines),
  placer = aFirstPlacer(),
  queue = anEngineQueue({ placer }),
  nextCall = () => call,
  span = noSpan,
  keyId = 'key_1',
  memory = createBodyMemory(1_073_741_824),
  streams = new OpenStreams(),
}: {
  engines: Engine[];
  /** Fields of the request's body. */
  fields?: object;
  timeouts?: Partial<AnswerTimeouts>;
  call?: RecordedCall;
  findEngines?: () => Engine[];
  registry?: EngineRegistry;
  placer?: Placer;
  queue?: EngineQueue;
  /** For every request one of its own. */
  nextCall?: () => RecordedCall;
  span?: CallSpan;
  keyId?: string;
  memory?: BodyMemory;
  streams?: OpenStreams;
}): Promise<ServedCall> {
  let response: ServerResponse | undefined;
  const app = express();
  app.get('/', async (_req, res) => {
    response = res;
    const open = nextCall();
    const dependencies = answerDependencies({
      engines: registry,
      queue,
      streams,
      timeouts: { ...LONG_TIMEOUTS, ...timeouts },
    });
    const { callId } = open;
    const call = aCall({ callId, keyId, request: aChatRequest(fields), span });
    const room = memory.open(keyId);
    await answerCall(dependencies, call, { open, room, rateLimit: RATE_LIMIT, res }).finally(room.close);
  });
  // An error that is no fault gets a status that no fault has, so that no test takes it for one.
  const onError: ErrorRequestHandler = (error, _req, res, _next) => {
    const { status, body, headers = {} } = toWireError(error) ?? { status: 599, body: { error: String(error) } };
    res.status(status).set(headers).json(body);
  };
  app.use(onError);
  // Keeps connections for longer than a busy machine pauses, as a client's request on one that just closes fails.
  const server = createServer({ keepAliveTimeout: 60_000 }, app);
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
