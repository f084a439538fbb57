import { toBasePath } from './findNearestPath.ts';

/** An operation of the public conventions that this service does not have. */
export interface UnsupportedOperation {
  name: string;
  /** A sentence: what to use in its place. */
  instead: string;
}

const CHAT_WITH_HISTORY = 'Use POST /v1/chat/completions instead, with all messages so far in each call.';
const FINE_TUNING = { name: 'fine-tuning', instead: 'Use a model of GET /v1/models as it is.' };

const UNSUPPORTED: Record<string, UnsupportedOperation> = {
  '/v1/fine-tuning': FINE_TUNING,
  '/v1/fine_tuning': FINE_TUNING,
  '/v1/assistants': { name: 'assistants', instead: CHAT_WITH_HISTORY },
  '/v1/threads': { name: 'threads', instead: CHAT_WITH_HISTORY },
  '/v1/runs': { name: 'runs', instead: CHAT_WITH_HISTORY },
  '/v1/batches': { name: 'batches', instead: 'Send each request by itself.' },
  '/v1/files': { name: 'files', instead: 'Send what they hold within the request.' },
  '/v1/uploads': { name: 'uploads', instead: 'Send what they hold within the request.' },
  '/v1/vector_stores': { name: 'vector stores', instead: 'Search by the vectors of POST /v1/embeddings instead.' },
  '/v1/moderations': { name: 'moderations', instead: 'Ask a chat model with POST /v1/chat/completions instead.' },
  '/v1/rerank': { name: 'rerank', instead: 'Compare the vectors of POST /v1/embeddings instead.' },
  '/v1/realtime': { name: 'realtime', instead: 'Use POST /v1/chat/completions with "stream": true instead.' },
};

const NEW_VIDEO = 'Make a new one with POST /v1/videos instead.';
/** Operations below paths that there are. */
const UNSUPPORTED_BELOW: [RegExp, UnsupportedOperation][] = [
  [
    /^\/v1\/responses\/input_tokens$/,
    { name: 'counts of a response’s input', instead: 'Count it with POST /v1/messages/count_tokens instead.' },
  ],
  [
    /^\/v1\/responses\/./,
    { name: 'stored responses', instead: 'Send the whole conversation with POST /v1/responses instead.' },
  ],
  [
    /^\/v1\/messages\/batches(?:\/|$)/,
    { name: 'batches of messages', instead: 'Send each with POST /v1/messages instead.' },
  ],
  [
    /^\/v1\/images\/(?:edits|variations)$/,
    { name: 'edits and variations of images', instead: 'Make a new one with POST /v1/images/generations instead.' },
  ],
  [/^\/v1\/videos\/edits(?:\/|$)/, { name: 'edits of videos', instead: NEW_VIDEO }],
  [/^\/v1\/videos\/extensions(?:\/|$)/, { name: 'extensions of videos', instead: NEW_VIDEO }],
  [/^\/v1\/videos\/characters(?:\/|$)/, { name: 'characters of videos', instead: 'Describe them in the prompt.' }],
  [/^\/v1\/videos\/[^/]+\/remix$/, { name: 'remixes of videos', instead: NEW_VIDEO }],
];

/**
 * Finds the unsupported operation at a raw path or above it. A client that leaves the
 * base out, or has it twice, gets the same words.
 */
export function findUnsupportedOperation(rawPath: string): UnsupportedOperation | undefined {
  const path = toBasePath(rawPath) ?? '';
  const below = UNSUPPORTED_BELOW.find(([pattern]) => pattern.test(path));
  if (below) return below[1];
  const [, version, resource] = path.split('/', 3);
  const operation = `/${version}/${resource}`;
  return Object.hasOwn(UNSUPPORTED, operation) ? UNSUPPORTED[operation] : undefined;
}
