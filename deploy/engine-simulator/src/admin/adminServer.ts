import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { z } from 'zod';
import { type FaultRules, faultRulesSchema } from '../faults/faultRules.ts';
import { readJson } from '../http/readJson.ts';
import { sendError, sendJson } from '../http/sendAnswer.ts';
import { type Knobs, knobsSchema } from '../knobs.ts';
import { type EngineProcess, processStateSchema } from '../process/engineProcess.ts';
import { EngineError, internalError, notFound } from '../wire/engineError.ts';
import type { RequestLog } from './requestLog.ts';

export interface AdminContext {
  processes: readonly EngineProcess[];
  log: RequestLog;
  faultRules: FaultRules;
}

/** Which engines an order is for; without a port, all of the process. */
const targetSchema = z.strictObject({ port: z.int().optional() });
const stateSchema = targetSchema.extend({ state: processStateSchema });
const configSchema = knobsSchema.partial().extend(targetSchema.shape);

type Handler = (req: IncomingMessage, context: AdminContext, url: URL) => object | Promise<object>;

const handlers = new Map<string, Handler>([
  ['GET /admin/requests', listRequests],
  ['POST /admin/config', configure],
  ['POST /admin/pause', (_req, { processes }) => orderAll(processes, ({ engine }) => engine.pause())],
  ['POST /admin/resume', (_req, { processes }) => orderAll(processes, ({ engine }) => engine.resume())],
  ['POST /admin/state', setState],
  ['POST /admin/faults', addFaults],
  ['DELETE /admin/faults', clearFaults],
]);

/** The admin port for tests and scripts (README, Admin port). The data path does not use it. */
export function createAdminListener(context: AdminContext): RequestListener {
  return (req, res) => {
    const url = URL.parse(req.url ?? '/', 'http://admin');
    const handler = handlers.get(`${req.method} ${url?.pathname}`);
    if (url && handler) void answer(handler, { req, res, url }, context);
    else sendError(res, notFound('Not Found'));
  };
}

async function answer(
  handler: Handler,
  { req, res, url }: { req: IncomingMessage; res: ServerResponse; url: URL },
  context: AdminContext,
): Promise<void> {
  try {
    sendJson(res, await handler(req, context, url));
  } catch (error) {
    if (!res.destroyed) sendError(res, error instanceof EngineError ? error : internalError());
  }
}

function listRequests(_req: IncomingMessage, { log }: AdminContext, url: URL): object {
  const requestId = url.searchParams.get('requestId');
  return { requests: log.list().filter((entry) => requestId === null || entry.requestId === requestId) };
}

async function configure(req: IncomingMessage, { processes }: AdminContext): Promise<object> {
  const { port, ...knobs } = await readJson(req, configSchema);
  const given = Object.fromEntries(Object.entries(knobs).filter(([, value]) => value !== undefined)) as Partial<Knobs>;
  for (const { engine } of targeted(processes, port)) engine.configure(given);
  return { engines: processes.map(({ engine }) => ({ port: engine.config.port, ...engine.knobs })) };
}

function orderAll(processes: readonly EngineProcess[], act: (process: EngineProcess) => void): object {
  for (const process of processes) act(process);
  return {};
}

async function setState(req: IncomingMessage, { processes }: AdminContext): Promise<object> {
  const { port, state } = await readJson(req, stateSchema);
  await Promise.all(targeted(processes, port).map((process) => process.become(state)));
  return { engines: processes.map(({ engine, state: now }) => ({ port: engine.config.port, state: now })) };
}

async function addFaults(req: IncomingMessage, { faultRules }: AdminContext): Promise<object> {
  faultRules.add(await readJson(req, faultRulesSchema));
  return {};
}

function clearFaults(_req: IncomingMessage, { faultRules }: AdminContext): object {
  faultRules.clear();
  return {};
}

function targeted(processes: readonly EngineProcess[], port: number | undefined): readonly EngineProcess[] {
  const chosen = port === undefined ? processes : processes.filter(({ engine }) => engine.config.port === port);
  if (chosen.length === 0) throw notFound(`no engine on port ${port}`);
  return chosen;
}
