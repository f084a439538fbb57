import { findSimilar } from '@turnpike/public-api/findSimilar';
import { createPathFinder, listPaths } from './listedPaths.ts';

/** Bases of other gateways, and of this one where a client has it twice or not at all. */
const BASES = new Set(['', 'api', 'openai', 'v1', 'v2']);

/** Returns a raw path with one base and single slashes; undefined where it has nothing but bases. */
export function toBasePath(rawPath: string): string | undefined {
  const segments = rawPath.split('/');
  const start = segments.findIndex((segment) => !BASES.has(segment.toLowerCase()));
  if (start < 0) return undefined;
  const rest = segments.slice(start).filter((segment) => segment !== '');
  return `/v1/${rest.join('/')}`;
}

/**
 * Makes the function that finds the path that a client may have meant by one that is not listed: with one base and single
 * slashes it is listed, or close to a listed one. Undefined where none is near.
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
