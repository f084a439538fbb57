import { findSimilar } from '@turnpike/public-api/findSimilar';
import { createPathFinder, listPaths } from './listedPaths.ts';

/** Bases of other gateways, and of this one where a client has it twice or not at all. */
const BASES = new Set(['', 'api', 'openai', 'v1', 'v2']);

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
    const segments = rawPath.split('/');
    const start = segments.findIndex((segment) => !BASES.has(segment.toLowerCase()));
    if (start < 0) return undefined;
    const rest = segments.slice(start).filter((segment) => segment !== '');
    const meant = `/v1/${rest.join('/')}`;
    const listed = [meant, meant.toLowerCase()].find((path) => findPaths(path).length > 0);
    return listed ?? findSimilar(meant, routes, (route) => [route])[0];
  };
}
