import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Fault } from '../faults/fault.ts';
import type { Replica } from '../replica/replica.ts';
import type { RequestEntry } from '../replica/replicaLog.ts';
import { type Answer, jsonAnswer } from '../wire/answer.ts';
import { EngineError, type ErrorForm, toErrorAnswer } from '../wire/engineError.ts';
import { matchRoute, type Route } from '../wire/routes.ts';
import type { Call } from './call.ts';
import { createImages, getImageContent } from './images.ts';
import { describeBody, type RequestBody, readBody } from './readBody.ts';
import { sendAnswer } from './sendAnswer.ts';
import { createSpeech, getVoices } from './speech.ts';
import { transcribe } from './transcriptions.ts';
import { createVideo, deleteVideo, getVideo, getVideoContent, listVideos } from './videos.ts';

const RETRY_AFTER_SECONDS = 2;

const handlers: Record<Route, (call: Call) => Promise<Answer>> = {
  'GET /health': async () => jsonAnswer({}),
  'GET /v1/models': getModels,
  'POST /v1/images/generations': createImages,
  'GET /v1/images/{id}/content': getImageContent,
  'POST /v1/videos': createVideo,
  'GET /v1/videos': listVideos,
  'GET /v1/videos/{id}': getVideo,
  'DELETE /v1/videos/{id}': deleteVideo,
  'GET /v1/videos/{id}/content': getVideoContent,
  'POST /v1/audio/speech': createSpeech,
  'GET /v1/audio/voices': getVoices,
  'POST /v1/audio/transcriptions': (call) => transcribe(call, 'transcription'),
  'POST /v1/audio/translations': (call) => transcribe(call, 'translation'),
};

/** The public face of a replica. */
export function createReplicaListener(replica: Replica): RequestListener {
  return (req, res) => void answer(req, res, replica);
}

async function answer(req: IncomingMessage, res: ServerResponse, replica: Replica): Promise<void> {
  const url = URL.parse(req.url ?? '/', 'http://replica');
  const path = url?.pathname ?? '/';
  const match = matchRoute(req.method ?? '', path);
  const fault = match.route && replica.faults.take(match.route, replica.model);
  const entry = replica.log.openRequest({
    route: match.route ?? null,
    method: req.method ?? '',
    path: req.url ?? '',
    requestId: textOf(req.headers['x-request-id']),
    fields: {},
    bytesReceived: 0,
    bytesServed: 0,
    fault: fault?.kind ?? null,
  });
  const left = new AbortController();
  res.once('close', () => {
    if (!res.writableFinished) left.abort();
    if (entry.endedAt === null) closeEntry(replica, entry, res);
  });
  if (fault?.kind === 'never_answers') return;
  if (fault?.kind === 'reset_before_answer') {
    entry.state = 'broken';
    res.socket?.resetAndDestroy();
    return;
  }

  let made: Answer;
  try {
    const body: RequestBody =
      req.method === 'POST' ? await readBody(req) : { kind: 'json', value: undefined, length: 0 };
    Object.assign(entry, { fields: describeBody(body), bytesReceived: body.length });
    if (!match.route) throw new EngineError(match.methods.length > 0 ? 405 : 404, wordsOf(match.methods));
    refuseByFault(fault);
    const query = url?.searchParams ?? new URLSearchParams();
    made = await handlers[match.route]({ replica, entry, fault, id: match.id, query, body, left: left.signal });
  } catch (error) {
    if (left.signal.aborted) return;
    made = toAnswer(error, replica, path);
    if (fault?.kind === 'refuse_503_retry_after') res.setHeader('retry-after', RETRY_AFTER_SECONDS);
  }
  if (!res.destroyed) await sendAnswer(made, { res, entry, fault, clock: replica.clock });
}

const wordsOf = (methods: readonly string[]): string => (methods.length > 0 ? 'Method Not Allowed' : 'Not Found');

function toAnswer(error: unknown, replica: Replica, path: string): Answer {
  const known = error instanceof EngineError ? error : new EngineError(500, 'Internal Server Error');
  const form = known.form ?? formOf(replica, path);
  const { status, body } = toErrorAnswer(known, form);
  return jsonAnswer(body, status);
}

/** Some engines word their errors otherwise from one operation to the next. */
function formOf({ personality }: Replica, path: string): ErrorForm {
  const { images, videos, speech, transcriptions } = personality;
  if (path.startsWith('/v1/images')) return images?.errorForm ?? 'detail';
  if (path.startsWith('/v1/videos')) return videos?.errorForm ?? 'detail';
  if (path.startsWith('/v1/audio/tra')) return transcriptions?.errorForm ?? 'detail';
  return speech?.errorForm ?? 'detail';
}

/** GET /v1/models: the one model that it serves. */
async function getModels({ replica }: Call): Promise<Answer> {
  const card = {
    id: replica.model,
    object: 'model',
    created: replica.unixSeconds(),
    owned_by: replica.personality.owner,
  };
  return jsonAnswer({ object: 'list', data: [card] });
}

function closeEntry({ log }: Replica, entry: RequestEntry, res: ServerResponse): void {
  const state = entry.state === 'open' ? 'aborted' : entry.state;
  log.closeRequest(entry, { state, status: res.headersSent ? res.statusCode : null });
}

const textOf = (header: string | string[] | undefined): string | null =>
  header === undefined ? null : Array.isArray(header) ? header.join(', ') : header;

const REFUSALS: Partial<Record<Fault['kind'], [status: number, message: string]>> = {
  refuse_500: [500, 'Internal server error'],
  refuse_503: [503, 'The server is busy, please try again later.'],
  refuse_503_retry_after: [503, 'The server is busy, please try again later.'],
  refuse_429: [429, 'Too many requests'],
  refuse_404: [404, 'Not Found'],
  refuse_401: [401, 'Unauthorized'],
  refuse_409: [409, 'Cancellation in progress. Please try again later.'],
};

/** Throws what is answered in place of the engine, where the fault is a refusal: nothing has been begun then. */
function refuseByFault(fault: Fault | undefined): void {
  const [status, message] = (fault && REFUSALS[fault.kind]) ?? [];
  if (status !== undefined) throw new EngineError(status, message ?? '');
}
