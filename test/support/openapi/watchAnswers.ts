import { afterEach } from '@jest/globals';
import { type AnswerHead, type CheckedHead, createAnswerChecker } from './createAnswerChecker.ts';
import { createEventChecker } from './createEventChecker.ts';
import { parseJson } from './parseJson.ts';
import { readDocument } from './readDocument.ts';

const EVENTS = 'text/event-stream';
const JSON_TYPE = 'application/json';

const checkHead = createAnswerChecker(readDocument());
const violations: string[] = [];
const watched = new Set<string>();
const fetchUnwatched = globalThis.fetch;

// A client may take what `fetch` throws for a failed connection, and a test may expect that: so it is told afterwards.
afterEach(() => {
  const found = violations.splice(0);
  if (found.length > 0) throw new Error(`answers that docs/openapi.json does not allow:\n${found.join('\n')}`);
});

/**
 * Checks every later response that `fetch` gets from below this address, which ends in `/v1`, against docs/openapi.json. This
 * includes clients that use the global `fetch`. An undocumented response fails the test that sent the request.
 */
export function watchAnswers(baseUrl: string): void {
  watched.add(`${baseUrl}/`);
  globalThis.fetch = fetchWatched;
}

const fetchWatched: typeof fetch = async (input, init) => {
  const response = await fetchUnwatched(input, init);
  const url = input instanceof Request ? input.url : String(input);
  if (![...watched].some((start) => url.startsWith(start))) return response;
  const method = init?.method ?? (input instanceof Request ? input.method : 'GET');
  const head = {
    method: method.toUpperCase(),
    path: new URL(url).pathname,
    status: response.status,
    headers: response.headers,
  };
  const checked = checkAnswerHead(head);
  const note = (problems: string[]) => noteViolations(head, problems);
  if (checked.media === EVENTS) return watchEvents(response, checked, note);
  // Images, clips, audio and subtitles have a head alone that could be wrong.
  return checked.media === JSON_TYPE ? checkWhole(response, checked, note) : response;
};

/** Checks an answer that did not come by `fetch`, as far as it is known. */
export function checkAnswerHead(head: AnswerHead): CheckedHead {
  const checked = checkHead(head);
  noteViolations(head, checked.problems);
  return checked;
}

function noteViolations({ method, path, status }: AnswerHead, problems: string[]): void {
  violations.push(...problems.map((problem) => `${method} ${path} ${status}: ${problem}`));
}

/** Each event is checked after it was passed on, one at a time: nothing is kept back, and who leaves is seen to leave. */
function watchEvents(
  response: Response,
  { checkJson, streamEnd }: CheckedHead,
  note: (problems: string[]) => void,
): Response {
  const checker = createEventChecker(checkJson, streamEnd);
  const watching = new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, controller) {
      controller.enqueue(bytes);
      note(checker.push(bytes));
    },
    flush: () => note(checker.end()),
  });
  return copyOf(response, response.body?.pipeThrough(watching) ?? null);
}

/** Read here and not when the test reads it, which it may not do at all. */
async function checkWhole(
  response: Response,
  { checkJson }: CheckedHead,
  note: (problems: string[]) => void,
): Promise<Response> {
  const bytes = await response.arrayBuffer();
  const value = parseJson(new TextDecoder().decode(bytes));
  note(value === undefined ? ['has a body that is no JSON'] : checkJson(value));
  return copyOf(response, bytes);
}

const copyOf = ({ status, statusText, headers }: Response, body: ArrayBuffer | ReadableStream | null): Response =>
  new Response(body, { status, statusText, headers });
