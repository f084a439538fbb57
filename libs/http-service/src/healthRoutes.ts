import { startDeadline } from '@turnpike/lifecycle/startDeadline';
import type { Route } from './createHttpApp.ts';
import { isEnding } from './drain.ts';
import { openGuard } from './guard.ts';

/** Longest wait for one check, below the timeout of probes, so that the answer names the check that hangs. */
const CHECK_TIMEOUT_MS = 3_000;

/** True if the dependency works, else the reason for operators, or false. */
type Readiness = boolean | string;
/**
 * Readiness checks by name. Each returns whether a dependency works that every call needs. A check that throws counts
 * as false.
 */
export type ReadinessChecks = Record<string, () => Readiness | Promise<Readiness>>;

/** A problem that an operator has to fix while calls are served. */
export interface Warning {
  kind: WarningKind;
  /**
   * The setting of the file or of the database, the routing target, the catalog model, the engine or the media backend.
   * A metric label, so never text from a client.
   */
  subject: string;
  /** For operators: the problem, since when, and its effect meanwhile. */
  text: string;
}

/**
 * The kind of a warning.
 * - `file_refused`: a watched file cannot be used, and the last good one is in use.
 * - `target_not_listed`: the engines of a routing target cannot be listed.
 * - `model_without_engine`: no engine takes calls of a model that the catalog sells.
 * - `engine_silent`: an engine that takes calls did not answer its last check.
 * - `model_without_backend`: no media backend takes work for a model.
 * - `backend_silent`: a backend that takes work did not answer its last check.
 * - `backend_hung`: a backend that answers its checks gives nothing for its work, because it hangs or is slow.
 * - `object_store_away`: the object store gives no usable answer, or refuses writes.
 * - `postgres_away`: Postgres does not answer, and calls are served without it.
 */
type WarningKind =
  | 'file_refused'
  | 'target_not_listed'
  | 'model_without_engine'
  | 'engine_silent'
  | 'model_without_backend'
  | 'backend_silent'
  | 'backend_hung'
  | 'object_store_away'
  | 'postgres_away';

/**
 * Creates the routes `GET /health` and `GET /ready`, for the internal listener only. `/health` is 200 while the process
 * answers. `/ready` is 200 while the service can serve. Otherwise, and from the stop signal on, it is 503. A 503 lists
 * the missing dependencies, and since when this route has seen them missing. `/ready` also lists the warnings.
 */
export function createHealthRoutes(checks: ReadinessChecks, listWarnings: () => Warning[] = () => []): Route[] {
  let since: string | undefined;
  return [
    { method: 'get', path: '/health', guard: openGuard, handler: (_req, res) => void res.json({ status: 'ok' }) },
    {
      method: 'get',
      path: '/ready',
      guard: openGuard,
      handler: async (_req, res) => {
        if (isEnding(res)) return void res.status(503).json({ status: 'ending' });
        const missing: string[] = [];
        for (const { name, isThere, why } of await readReadiness(checks, CHECK_TIMEOUT_MS))
          if (!isThere) missing.push(why === undefined ? name : `${name}: ${why}`);
        since = missing.length === 0 ? undefined : (since ?? new Date().toISOString());
        const warnings = listWarnings().map(({ text }) => text);
        const more = warnings.length > 0 ? { warnings } : {};
        if (missing.length === 0) res.json({ status: 'ready', ...more });
        else res.status(503).json({ status: 'not ready', missing, since, ...more });
      },
    },
  ];
}

/** The result of one readiness check. */
interface CheckResult {
  name: string;
  isThere: boolean;
  /** Reason for operators, if the check has one. */
  why?: string;
}

/**
 * Runs every check, for `timeoutMs` at most. A check that throws or does not answer in time counts as missing. Never
 * rejects.
 */
export function readReadiness(checks: ReadinessChecks, timeoutMs: number): Promise<CheckResult[]> {
  return Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      const found = await withinTime(Promise.try(check), timeoutMs).catch(() => false);
      return typeof found === 'string' ? { name, isThere: false, why: found } : { name, isThere: found };
    }),
  );
}

async function withinTime(check: Promise<Readiness>, timeoutMs: number): Promise<Readiness> {
  const { promise: passed, resolve } = Promise.withResolvers<string>();
  const { stop } = startDeadline(timeoutMs, () => resolve(`no answer within ${timeoutMs / 1_000} s`));
  return Promise.race([check, passed]).finally(stop);
}
