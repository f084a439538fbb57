import type { Route } from './createHttpApp.ts';
import { isEnding } from './drain.ts';
import { openGuard } from './guard.ts';

/**
 * `GET /health`, 200 as long as the process answers, and `GET /ready`, 200 while it can serve and 503 otherwise and
 * from the moment it is told to stop. For the internal listener only. A check that throws means: not ready.
 */
export function createHealthRoutes(isReady: () => boolean | Promise<boolean>): Route[] {
  return [
    { method: 'get', path: '/health', guard: openGuard, handler: (_req, res) => void res.json({ status: 'ok' }) },
    {
      method: 'get',
      path: '/ready',
      guard: openGuard,
      handler: async (_req, res) => {
        const ready = !isEnding(res) && (await Promise.resolve(isReady()).catch(() => false));
        res.status(ready ? 200 : 503).json({ status: ready ? 'ready' : 'not ready' });
      },
    },
  ];
}
