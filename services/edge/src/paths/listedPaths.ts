import { MEDIA_ROUTES } from '@turnpike/public-api/mediaRoutes';
import { CHAT_API_PATHS, COUNT_TOKENS_PATH, OPERATION_PATHS } from '@turnpike/public-api/operations';
import type { Upstream } from './upstream.ts';

/** One operation that clients may call. */
export interface ListedPath {
  method: 'GET' | 'POST' | 'DELETE';
  /** Method and route, for metrics and traces. */
  operation: string;
  /** The path with names of parameters. */
  route: string;
  /** Pattern for the raw path of the request line: case, slashes and encodings count as sent. */
  pattern: RegExp;
  upstream: Upstream;
}

/**
 * One path parameter: unreserved and sub-delimiter characters, and other bytes percent-encoded. A separator (`%2f`,
 * `%5c`) or a control character is excluded, because a service could read another path from it.
 */
const PARAMETER = '(?:[A-Za-z0-9._~:@+,=-]|%(?!2f|5c|0|1|7f)[0-9a-f]{2})+';
/** The name of a model, which may contain slashes. */
const MODEL_NAME = `${PARAMETER}(?:/${PARAMETER})*`;
/** The id in a usage request. Encoded control characters are allowed, because the service itself answers a wrong id. */
const LOOK_UP_ID = '(?:[A-Za-z0-9._~:@+,=-]|%(?!2f|5c)[0-9a-f]{2})+';

/** The id of a job, which excludes words of the convention at this position. */
const JOB_ID = `(?!(?:edits|extensions|characters)(?:/|$))${PARAMETER}`;

/**
 * Returns every path that clients may call; no other path is passed on. `serviceSegment` replaces `svc` in `/v1/svc/…`.
 */
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
    // Only the hexadecimal digits of a parameter are case-insensitive.
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
 * Returns a function that finds the listed operations at a raw path without its query. It returns none if the path is
 * not listed, and normalizes nothing.
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

/** Returns whether the encodings are valid UTF-8 and leave no dot segment, which a service could resolve. */
function isDecodable(rawPath: string): boolean {
  try {
    return !decodeURIComponent(rawPath)
      .split('/')
      .some((segment) => segment === '.' || segment === '..');
  } catch {
    return false;
  }
}
