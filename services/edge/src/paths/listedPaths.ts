import { MEDIA_ROUTES } from '@turnpike/public-api/mediaRoutes';
import { CHAT_API_PATHS, COUNT_TOKENS_PATH, OPERATION_PATHS } from '@turnpike/public-api/operations';
import type { Upstream } from './upstream.ts';

/** One operation that clients may call. */
export interface ListedPath {
  method: 'GET' | 'POST' | 'DELETE';
  /** Method and route, as metrics and traces name it. */
  operation: string;
  /** The path, parameters by their names. */
  route: string;
  /** Matched against the raw path of the request line: case, slashes and encodings count as sent. */
  pattern: RegExp;
  upstream: Upstream;
}

/**
 * One path parameter: unreserved and sub-delimiter characters, and other bytes percent-encoded, but never a separator
 * (`%2f`, `%5c`) or a control character, which a service behind could read as another path.
 */
const PARAMETER = '(?:[A-Za-z0-9._~:@+,=-]|%(?!2f|5c|0|1|7f)[0-9a-f]{2})+';
/** The name of a model, which may hold slashes. */
const MODEL_NAME = `${PARAMETER}(?:/${PARAMETER})*`;
/** The id of a look-up, of which a wrong one gets the look-up's own answer: control characters too, encoded. */
const LOOK_UP_ID = '(?:[A-Za-z0-9._~:@+,=-]|%(?!2f|5c)[0-9a-f]{2})+';

/** The id of a job. Words that the convention has in its place are none. */
const JOB_ID = `(?!(?:edits|extensions|characters)(?:/|$))${PARAMETER}`;

/** Every path that clients may call; nothing else is passed on. `serviceSegment` stands for `svc` in `/v1/svc/…`. */
export function listPaths(serviceSegment: string): ListedPath[] {
  const list = (
    upstream: Upstream,
    method: ListedPath['method'],
    route: string,
    parameters: Record<string, string> = {},
  ): ListedPath => ({
    operation: `${method} ${route}`,
    method,
    route,
    // Only a parameter's hexadecimal digits may be of either case.
    pattern: new RegExp(`^${route.replace(/:(\w+)/g, (_parameter, name: string) => `(?i:${parameters[name]})`)}$`),
    upstream,
  });
  return [
    ...[...Object.values(OPERATION_PATHS), ...Object.values(CHAT_API_PATHS), COUNT_TOKENS_PATH].map((path) =>
      list('model-router', 'POST', path),
    ),
    ...Object.values(MEDIA_ROUTES).map(({ method, path }) => list('media-jobs', method, path, { id: JOB_ID })),
    list('catalog', 'GET', '/v1/models'),
    list('catalog', 'GET', '/v1/models/:id', { id: MODEL_NAME }),
    list('auth', 'GET', `/v1/${serviceSegment}/key`),
    list('auth', 'GET', `/v1/${serviceSegment}/credit`),
    list('usage-ledger', 'GET', `/v1/${serviceSegment}/usage`),
    list('usage-ledger', 'GET', `/v1/${serviceSegment}/usage/request/:request_id`, { request_id: LOOK_UP_ID }),
  ];
}

/**
 * Makes the function that finds the listed operations at a raw path, query removed; none when the path is not listed. Nothing is
 * normalised.
 */
export function createPathFinder(serviceSegment: string): (rawPath: string) => readonly ListedPath[] {
  const paths = listPaths(serviceSegment);
  const exact = Map.groupBy(
    paths.filter(({ route }) => !route.includes(':')),
    ({ route }) => route,
  );
  return (rawPath) =>
    exact.get(rawPath) ?? (isDecodable(rawPath) ? paths.filter(({ pattern }) => pattern.test(rawPath)) : []);
}

/** Whether the encodings are whole UTF-8 and leave no dot segment, which a service behind could resolve. */
function isDecodable(rawPath: string): boolean {
  try {
    return !decodeURIComponent(rawPath)
      .split('/')
      .some((segment) => segment === '.' || segment === '..');
  } catch {
    return false;
  }
}
