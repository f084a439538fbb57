import { startDeadline } from '@turnpike/lifecycle/startDeadline';
import type { Route } from './createHttpApp.ts';
import { isEnding } from './drain.ts';
import { openGuard } from './guard.ts';

/** Longest wait for one check, shorter than the wait of those who ask, so that they hear what hangs. */
const CHECK_TIMEOUT_MS = 3_000;

/** True where it is there; why it is not, in words for operators, or just false. */
type Readiness = boolean | string;
/** Readiness checks: each says whether something is there without which no call can be served. One that throws means no. */
export type ReadinessChecks = Record<string, () => Readiness | Promise<Readiness>>;

/** A thing that an operator has to look at, though calls are served. */
export interface Warning {
  kind: WarningKind;
  /** The setting of the file or of the database, the routing target, the catalog model, the engine or the media backend. A label of a metric, so never the words of a client. */
  subject: string;
  /** Describes to operators what is wrong, since when, and what holds meanwhile. */
  text: string;
}

/**
 * `file_refused`: a file that is read again on change cannot be used, and the last good one is in force. `target_not_listed`: the
 * engines of a routing target cannot be listed. `model_without_engine`: no engine takes calls of a model that the catalog sells.
 * `engine_silent`: an engine that takes calls did not answer its last check. `model_without_backend`: no media backend takes work
 * for a model. `backend_silent`: one that takes work did not answer its last check. `object_store_away`: the object store gives no answer of use, or refuses writes.
 * `postgres_away`: Postgres gives no answer, and calls are served without it.
 */
type WarningKind =
  | 'file_refused'
  | 'target_not_listed'
  | 'model_without_engine'
  | 'engine_silent'
  | 'model_without_backend'
  | 'backend_silent'
  | 'object_store_away'
  | 'postgres_away';

/**
 * `GET /health`, 200 as long as the process answers, and `GET /ready`, 200 while it can serve and 503 otherwise, with what is
 * missing and since when this route has seen that, and from the moment it is told to stop. Either names the warnings there are. For
 * the internal listener only.
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

/** Result of one readiness check. */
interface CheckResult {
  name: string;
  isThere: boolean;
  /** For operators, where the check has words for it. */
  why?: string;
}

/** Asks every check for `timeoutMs` at most. One that throws or says nothing in time finds that something is missing. Never rejects. */
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
