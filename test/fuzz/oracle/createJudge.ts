import { createAnswerChecker } from '../../support/openapi/createAnswerChecker.ts';
import { createEventChecker } from '../../support/openapi/createEventChecker.ts';
import { parseJson } from '../../support/openapi/parseJson.ts';
import { readDocument } from '../../support/openapi/readDocument.ts';
import type { FuzzCase } from '../cases/fuzzCase.ts';
import type { Answer, Problem } from './answer.ts';
import { expectedStatuses, hasKey, hasMuchHead, isInference, isUnlisted, pathOf } from './expectedStatuses.ts';
import { findLeaks } from './findLeaks.ts';

export type Judge = (fuzzCase: FuzzCase, answer: Answer) => Problem[];

/** Other types are images, clips and audio, of which only the head is known. */
const TEXTS = /^(?:text\/|application\/)/;
/** The refusal of what is not well-formed HTTP belongs to no operation; every inference operation documents it. */
const MALFORMED = { method: 'POST', path: '/v1/chat/completions' };

/** A count is no call, and has no id. */
const COUNTED = /^\/v1\/messages\/count_tokens/;

/** A path that no operation has. */
const NOWHERE = '/nowhere';

/** Judges answers by the published document and by what each case allows. `secrets` must not be seen in any. */
export function createJudge({ secrets }: { secrets: readonly string[] }): Judge {
  const checkHead = createAnswerChecker(readDocument());

  function checkShape(fuzzCase: FuzzCase, { status, headers, body }: Answer): string[] {
    const { problems, media, streamEnd, checkJson } = checkHead({
      ...toOperation(fuzzCase, { status, body }),
      status,
      headers,
    });
    if (!TEXTS.test(media)) return problems;
    const text = body.toString('utf8');
    if (!Buffer.from(text).equals(body)) return [...problems, 'is no UTF-8'];
    if (media !== 'text/event-stream') {
      if (media !== 'application/json') return problems;
      const value = parseJson(text);
      return [...problems, ...(value === undefined ? ['has a body that is no JSON'] : checkJson(value))];
    }
    const events = createEventChecker(checkJson, streamEnd);
    return [...problems, ...events.push(body), ...events.end()];
  }

  return (fuzzCase, answer) => {
    const { status, headers, body, answers } = answer;
    const expected = expectedStatuses(fuzzCase);
    const problems: Problem[] = [];
    const add = (kind: Problem['kind'], text: string, mayBeTheMachine = false) =>
      problems.push({ kind, text, mayBeTheMachine });
    // Deadlines between services pass on a machine that has no time for them, and then say so.
    const isOutage = [502, 503, 504].includes(status);
    if (!expected.includes(status))
      add('status', `answered ${status}, not ${expected.join(' or ')}: ${headers.get('x-error-message')}`, isOutage);
    for (const text of checkShape(fuzzCase, answer)) add('shape', text);
    if (lacksCallId(fuzzCase, answer)) add('shape', 'has no x-router-call-id');
    if (headers.has('access-control-allow-origin')) add('shape', 'has access-control-allow-origin');
    if (fuzzCase.kind === 'raw' && fuzzCase.hidesAnother && answers !== 1)
      add('answers', `${answers} answers to one request`);
    // The dashboard's address is for clients to read, wherever it is.
    const text = body.toString('utf8').replace(/"doc_url":"[^"]*"/, '');
    const isError = status >= 400 || text.includes('{"error"');
    const leaks = findLeaks(isError ? text : '', { request: textOf(fuzzCase), secrets });
    for (const leak of leaks) add('leak', `shows ${JSON.stringify(leak)}`);
    return problems;
  };
}

/** Every answer of the router's after the key was accepted names its call. */
function lacksCallId(fuzzCase: FuzzCase, { headers }: Answer): boolean {
  if (fuzzCase.kind === 'raw' || !isInference(fuzzCase) || COUNTED.test(fuzzCase.path) || fuzzCase.method !== 'POST')
    return false;
  return hasKey(fuzzCase) && !hasMuchHead(fuzzCase) && !headers.has('x-router-call-id');
}

function toOperation(
  fuzzCase: FuzzCase,
  { status, body }: Pick<Answer, 'status' | 'body'>,
): { method: string; path: string } {
  if (fuzzCase.kind === 'call') {
    const path = pathOf(fuzzCase);
    // Refused by the parser, or by the edge, which words it in the form of the path.
    if (status === 400 && hasMuchHead(fuzzCase))
      return body.includes('{"type":"error"') ? { method: 'POST', path } : MALFORMED;
    return { method: fuzzCase.method, path: isUnlisted(path) ? NOWHERE : path };
  }
  if (status === 400) return MALFORMED;
  // Servers may take several spaces for one (RFC 9112, 3).
  const [method = '', target = ''] = fuzzCase.bytes.toString('latin1').split('\r\n', 1)[0]?.split(/ +/) ?? [];
  const [path = ''] = target.split('?');
  return { method, path: isUnlisted(path) ? NOWHERE : path };
}

/** All that a client sent, as it may be repeated to it: escapes resolved as well. */
function textOf(fuzzCase: FuzzCase): string {
  if (fuzzCase.kind === 'raw') return fuzzCase.bytes.toString('utf8');
  const text = (fuzzCase.body ?? Buffer.of()).toString('utf8');
  const path = fuzzCase.path.replace(/%([0-9a-f]{2})/gi, (_, digits) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
  return [text, text.replaceAll('\\/', '/'), path, ...fuzzCase.headers.flat()].join('\n');
}
