import type { IncomingMessage, RequestListener } from 'node:http';
import { readJson } from '@turnpike/engine-simulator/http/readJson';
import { sendError, sendJson } from '@turnpike/engine-simulator/http/sendAnswer';
import { EngineError, internalError, notFound } from '@turnpike/engine-simulator/wire/engineError';
import { z } from 'zod';
import { withoutUndefined } from '../config.ts';
import { faultRulesSchema } from '../faults/faultRules.ts';
import { knobsSchema } from '../knobs.ts';
import type { Render } from '../replica/renderQueue.ts';
import type { Replica } from '../replica/replica.ts';

/** The parts that the admin port steers: the replica, its listener, and its virtual clock, if it has one. */
export interface AdminContext {
  replica: Replica;
  /** Opens the public port or closes it with all its connections. */
  setPort: (port: 'open' | 'closed') => Promise<void>;
  cutConnections: () => void;
  advance: ((ms: number) => void) | undefined;
}

const restartSchema = z.strictObject({
  records: z.enum(['forget', 'keep']).default('forget'),
  files: z.enum(['keep', 'lose']).default('keep'),
});
const portSchema = z.strictObject({ port: z.enum(['open', 'closed']) });
const advanceSchema = z.strictObject({ ms: z.number().min(0) });

type Handler = (req: IncomingMessage, context: AdminContext) => object | Promise<object>;

const handlers = new Map<string, Handler>([
  ['GET /admin/log', (_req, { replica }) => readLog(replica)],
  ['GET /admin/state', (_req, { replica }) => readState(replica)],
  [
    'POST /admin/config',
    async (req, { replica }) => {
      replica.configure(withoutUndefined(await readJson(req, knobsSchema.partial())));
      return replica.knobs;
    },
  ],
  ['POST /admin/pause', (_req, { replica }) => done(replica.queue.pause())],
  ['POST /admin/resume', (_req, { replica }) => done(replica.queue.resume())],
  [
    'POST /admin/restart',
    async (req, { replica, cutConnections }) => {
      const order = await readJson(req, restartSchema);
      cutConnections();
      return done(replica.restart(order));
    },
  ],
  ['POST /admin/port', async (req, { setPort }) => done(await setPort((await readJson(req, portSchema)).port))],
  [
    'POST /admin/advance',
    async (req, { advance }) => {
      const { ms } = await readJson(req, advanceSchema);
      if (!advance) throw notFound('the clock is the system’s');
      return done(advance(ms));
    },
  ],
  ['GET /admin/faults', (_req, { replica }) => ({ rules: replica.faults.list() })],
  ['POST /admin/faults', async (req, { replica }) => done(replica.faults.add(await readJson(req, faultRulesSchema)))],
  ['DELETE /admin/faults', (_req, { replica }) => done(replica.faults.clear())],
]);

const done = (_outcome: unknown): object => ({});

/** The side door for whoever scripts the replica (README, Admin port). Nothing on the data path knows it. */
export function createAdminListener(context: AdminContext): RequestListener {
  return (req, res) => {
    const handler = handlers.get(`${req.method} ${req.url?.split('?')[0]}`);
    const answer = handler ? Promise.try(handler, req, context) : Promise.reject(notFound('Not Found'));
    answer.then(
      (body) => sendJson(res, body),
      (error: unknown) => sendError(res, error instanceof EngineError ? error : internalError()),
    );
  };
}

/** All requests and renders of this replica since its folder was made, and what they come to. */
function readLog({ log: { requests, renders } }: Replica): object {
  const renderStates = Object.groupBy(renders, ({ state }) => state);
  return {
    totals: {
      requests: requests.length,
      bytesReceived: requests.reduce((sum, { bytesReceived }) => sum + bytesReceived, 0),
      bytesServed: requests.reduce((sum, { bytesServed }) => sum + bytesServed, 0),
      rendersOrdered: renders.length,
      rendersStarted: renders.filter(({ startedAt }) => startedAt !== null).length,
      rendersFinished: renderStates.finished?.length ?? 0,
      rendersAborted: renderStates.aborted?.length ?? 0,
      rendersFailed: renderStates.failed?.length ?? 0,
      rendersLost: renderStates.lost?.length ?? 0,
    },
    requests,
    renders,
  };
}

/** Returns the state of a replica at this moment. */
function readState({ queue, records, files, knobs, clock }: Replica): object {
  const toQueued = (render: Render) => ({ ...render.entry, progress: queue.progressOf(render) });
  return {
    nowMs: clock.unixMs(),
    running: queue.running.map(toQueued),
    waiting: queue.waiting.map(toQueued),
    jobs: records.list(),
    files: files.list(),
    knobs,
  };
}
