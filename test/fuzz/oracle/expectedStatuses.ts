import { type CallCase, type FuzzCase, KEY } from '../cases/fuzzCase.ts';
import { isUnsendable } from './isUnsendable.ts';

/** Above the first of each the edge may refuse a request's head, above the second it has to, whatever the request asks for. */
const HEADERS = { taken: 90, most: 100 };
const HEADER_BYTES = { taken: 14_000, most: 16_384 };

/**
 * Returns the allowed statuses of a case while every dependency is up and no limit is near. They are as narrow as possible
 * without the gateway's own parsers. 500 and 503 are never among them.
 */
export function expectedStatuses(fuzzCase: FuzzCase): readonly number[] {
  if (fuzzCase.kind === 'raw') return fuzzCase.statuses;
  if (hasTooMuchHead(fuzzCase)) return [400];
  const statuses = isInference(fuzzCase)
    ? inferenceStatuses(fuzzCase)
    : isOfMedia(fuzzCase)
      ? mediaStatuses(fuzzCase)
      : lookUpStatuses(fuzzCase);
  return hasMuchHead(fuzzCase) ? [400, ...statuses] : statuses;
}

const INFERENCE = /^\/v1\/(?:chat\/completions|completions|embeddings|responses|messages|messages\/count_tokens)$/;
export const pathOf = ({ path }: CallCase): string => path.split('?', 1)[0] ?? '';
export const isInference = (call: CallCase): boolean => INFERENCE.test(pathOf(call));

/** Whether the edge may refuse the request before it looks at its path: the client's own headers count as well. */
export function hasMuchHead({ headers }: CallCase): boolean {
  return headers.length > HEADERS.taken || bytesOf(headers) > HEADER_BYTES.taken;
}

function hasTooMuchHead({ headers }: CallCase): boolean {
  return headers.length > HEADERS.most || bytesOf(headers) > HEADER_BYTES.most;
}

const bytesOf = (headers: CallCase['headers']): number =>
  headers.reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0);

/** Whether exactly one key is given, and the right one. */
export function hasKey(call: CallCase): boolean {
  const { headers } = call;
  const given = headers.filter(([name]) => name.toLowerCase() === 'authorization');
  // The Messages API has a header of its own for it.
  if (given.length === 0 && pathOf(call).startsWith('/v1/messages'))
    return headers.some(([name, value]) => name.toLowerCase() === 'x-api-key' && value === KEY);
  return given.length === 1 && given[0]?.[1].replace(/^Bearer +/, '') === KEY && given[0][1] !== KEY;
}

function inferenceStatuses(call: CallCase): readonly number[] {
  if (call.method !== 'POST') return [405];
  if (!hasKey(call)) return [401];
  return isRefusable(call) ? [400] : [200, 400, 404];
}

const MEDIA = /^\/v1\/(?:images|videos|audio)(?:\/|\?|$)/;
const isOfMedia = ({ path }: CallCase): boolean => MEDIA.test(path);
const JSON_OF_MEDIA = /^\/v1\/(?:images\/generations|audio\/speech)$/;
const UPLOADS = /^\/v1\/audio\/(?:transcriptions|translations)$/;
const JOBS = /^\/v1\/(?:videos|images\/jobs|audio\/jobs)\/([^/]+)(\/content)?$/;

/** Whether media are asked for at a path, and not looked up. */
export const isCreation = ({ path, method }: CallCase): boolean =>
  method === 'POST' && (JSON_OF_MEDIA.test(path) || UPLOADS.test(path) || path === '/v1/videos');

function mediaStatuses(call: CallCase): readonly number[] {
  const [path = ''] = call.path.split('?');
  if (isUnlisted(path)) return [404];
  const isLookUp = call.method === 'GET' && (path === '/v1/videos' || JOBS.test(path));
  const isDelete = call.method === 'DELETE' && JOBS.exec(path)?.[2] === undefined && JOBS.test(path);
  if (!isLookUp && !isDelete && !isCreation(call)) return [405];
  if (!hasKey(call)) return [401];
  // No client has such a job; the query is checked first.
  if (JOBS.test(path)) return isDelete ? [404] : [404, 422];
  if (isLookUp) return [200, 422];
  // A text that no engine could be sent is a field that fails.
  if (JSON_OF_MEDIA.test(path)) return isRefusable(call) ? [400, 422] : [200, 202, 400, 404, 422];
  return UPLOADS.test(path) ? [200, 202, 400, 404, 422] : [200, 400, 404, 422];
}

function lookUpStatuses(call: CallCase): readonly number[] {
  const [path = ''] = call.path.split('?');
  if (isUnlisted(path)) return [404];
  if (call.method !== 'GET') return [405];
  if (!hasKey(call)) return [401];
  if (ONE_THING.test(path)) return [200, 404];
  return path === '/v1/svc/usage' ? [200, 400] : [200];
}

const ONE_THING = /^\/v1\/(models|svc\/usage\/request)\/(.+)$/;
const PLAIN_ID = /^(?:[\w.~:@+,=-]|%[0-9a-f]{2})+$/i;
const SEPARATOR = /%(?:2f|5c)/i;
const CONTROL_CHARACTER = /%(?:[01][0-9a-f]|7f)/i;

/** Whether a look-up's path is nobody's: its id holds a separator or what is no UTF-8; a model's or a job's, a control character. */
export function isUnlisted(path: string): boolean {
  const job = JOBS.exec(path)?.[1];
  if (job !== undefined) return NO_JOB.test(path) || isNobodys(job) || CONTROL_CHARACTER.test(job);
  const [, kind, id] = ONE_THING.exec(path) ?? [];
  if (id === undefined) return false;
  // A model's name may hold slashes.
  return kind === 'models' ? id.split('/').some(isNobodys) || CONTROL_CHARACTER.test(id) : isNobodys(id);
}

/** Words that the convention has in the place of a job's id. */
const NO_JOB = /\/(?:edits|extensions|characters)(?:\/|$)/;

function isNobodys(id: string): boolean {
  if (!PLAIN_ID.test(id) || SEPARATOR.test(id)) return true;
  return !isDecodable(id) || ['.', '..'].includes(decodeURIComponent(id));
}

function isDecodable(text: string): boolean {
  try {
    return decodeURIComponent(text).isWellFormed();
  } catch {
    return false;
  }
}

/** Whether the body has to be refused by its type, coding or text alone. */
function isRefusable({ headers, body }: CallCase): boolean {
  const headerOf = (wanted: string) => headers.find(([name]) => name === wanted)?.[1].toLowerCase();
  const [type = ''] = (headerOf('content-type') ?? '').split(';');
  if (!/^application\/([^\s/]+\+)?json$/.test(type.trim())) return true;
  if ((headerOf('content-encoding') ?? 'identity') !== 'identity') return true;
  return isUnsendable(body ?? Buffer.of());
}
