import { MEDIA_ROUTES } from '@turnpike/public-api/mediaRoutes';
import { OPERATION_PATHS } from '@turnpike/public-api/operations';
import type { Upstream } from './upstream.ts';

/** One operation that clients may call. */
export interface ListedPath {
  method: 'GET' | 'POST' | 'DELETE';
  /** The path as metrics and traces name it, parameters by their names. */
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
/** The id of a look-up, of which a wrong one gets the look-up's own answer: control characters too, encoded. */
const LOOK_UP_ID = '(?:[A-Za-z0-9._~:@+,=-]|%(?!2f|5c)[0-9a-f]{2})+';

/** The id of a job. Words that the convention has in its place are none. */
const JOB_ID = `(?!(?:edits|extensions|characters)(?:/|$))${PARAMETER}`;

/** Every path that clients may call; nothing else is passed on. `serviceSegment` stands for `svc` in `/v1/svc/…`. */
export function listPaths(serviceSegment: string): ListedPath[] {
  const exactly = (path: string) => ({ route: path, pattern: new RegExp(`^${path}$`) });
  const withParameter = (path: string, name: string, parameter: string) => ({
    route: `${path}/:${name}`,
    // Only a parameter's hexadecimal digits may be of either case.
    pattern: new RegExp(`^${path}/(?i:${parameter})$`),
  });
  return [
    ...Object.values(OPERATION_PATHS).map(
      (path): ListedPath => ({ method: 'POST', ...exactly(path), upstream: 'model-router' }),
    ),
    ...Object.values(MEDIA_ROUTES).map(
      ({ method, path }): ListedPath => ({
        method,
        route: path,
        pattern: new RegExp(`^${path.replace(':id', `(?i:${JOB_ID})`)}$`),
        upstream: 'media-jobs',
      }),
    ),
    { method: 'GET', ...exactly('/v1/models'), upstream: 'catalog' },
    { method: 'GET', ...withParameter('/v1/models', 'id', PARAMETER), upstream: 'catalog' },
    { method: 'GET', ...exactly(`/v1/${serviceSegment}/key`), upstream: 'auth' },
    { method: 'GET', ...exactly(`/v1/${serviceSegment}/usage`), upstream: 'usage-ledger' },
    {
      method: 'GET',
      ...withParameter(`/v1/${serviceSegment}/usage/request`, 'request_id', LOOK_UP_ID),
      upstream: 'usage-ledger',
    },
  ];
}

/** The listed operations at a raw path, query removed; none when the path is not listed. Nothing is normalised. */
export function findListedPaths(paths: ListedPath[], rawPath: string): ListedPath[] {
  return isDecodable(rawPath) ? paths.filter(({ pattern }) => pattern.test(rawPath)) : [];
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
