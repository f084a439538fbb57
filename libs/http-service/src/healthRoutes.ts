import type { Route } from './createHttpApp.ts';
import { isEnding } from './drain.ts';
import { openGuard } from './guard.ts';

/** True where it is there; why it is not, in words for operators, or just false. */
type Readiness = boolean | string;
/** Readiness checks: each says whether something is there without which no call can be served. One that throws means no. */
export type ReadinessChecks = Record<string, () => Readiness | Promise<Readiness>>;

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
  const missing = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      const found = await Promise.try(check).catch(() => false);
      if (found === true) return [];
      return found === false ? [name] : [`${name}: ${found}`];
    }),
  );
  return missing.flat();
}
