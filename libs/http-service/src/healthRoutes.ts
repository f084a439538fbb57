import type { Route } from './createHttpApp.ts';
import { isEnding } from './drain.ts';
import { openGuard } from './guard.ts';

/** Readiness checks: each says whether something is there without which no call can be served. One that throws means no. */
export type ReadinessChecks = Record<string, () => boolean | Promise<boolean>>;

/**
 * `GET /health`, 200 as long as the process answers, and `GET /ready`, 200 while it can serve and 503 otherwise, with what is
 * missing, and from the moment it is told to stop. For the internal listener only.
 */
export function createHealthRoutes(checks: ReadinessChecks): Route[] {
  return [
    { method: 'get', path: '/health', guard: openGuard, handler: (_req, res) => void res.json({ status: 'ok' }) },
    {
      method: 'get',
      path: '/ready',
      guard: openGuard,
      handler: async (_req, res) => {
        if (isEnding(res)) return void res.status(503).json({ status: 'ending' });
        const missing = await findMissing(checks);
        if (missing.length === 0) res.json({ status: 'ready' });
        else res.status(503).json({ status: 'not ready', missing });
      },
    },
  ];
}

async function findMissing(checks: ReadinessChecks): Promise<string[]> {
  const found = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      const isThere = await Promise.try(check).catch(() => false);
      return isThere ? [] : [name];
    }),
  );
  return found.flat();
}
