import { findSimilar } from '@turnpike/public-api/findSimilar';
import { createPathFinder, listPaths } from './listedPaths.ts';

/** Base paths of other gateways, and of this one for clients that have it twice or not at all. */
const BASES = new Set(['', 'api', 'openai', 'v1', 'v2']);

/** Returns a raw path with one base and single slashes. Returns undefined if the path has only bases. */
export function toBasePath(rawPath: string): string | undefined {
  const segments = rawPath.split('/');
  const start = segments.findIndex((segment) => !BASES.has(segment.toLowerCase()));
  if (start < 0) return undefined;
  const rest = segments.slice(start).filter((segment) => segment !== '');
  return `/v1/${rest.join('/')}`;
}

/**
 * Returns a function that finds the listed path that a client may have meant. It compares the path with one base and
 * single slashes, exactly or by similarity. The function returns undefined if no listed path is near.
 */
export function createNearestPathFinder(serviceSegment: string): (rawPath: string) => string | undefined {
  const findPaths = createPathFinder(serviceSegment);
  const routes = [...new Set(listPaths(serviceSegment).map(({ route }) => route))].filter(
    (route) => !route.includes(':'),
  );
  return (rawPath) => {
    const meant = toBasePath(rawPath);
    if (meant === undefined) return undefined;
    const listed = [meant, meant.toLowerCase()].find((path) => findPaths(path).length > 0);
    return listed ?? findSimilar(meant, routes, (route) => [route])[0];
  };
}
