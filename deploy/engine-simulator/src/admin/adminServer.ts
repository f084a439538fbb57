import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { z } from 'zod';
import { type FaultRules, faultRulesSchema } from '../faults/faultRules.ts';
import { readJson } from '../http/readJson.ts';
import { sendError, sendJson } from '../http/sendAnswer.ts';
import { type Knobs, knobsSchema } from '../knobs.ts';
import { type EngineProcess, processStateSchema } from '../process/engineProcess.ts';
import { EngineError, internalError, notFound } from '../wire/engineError.ts';
import type { RequestLog, ServedRequest } from './requestLog.ts';

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
  ['GET /admin/requests', (_req, { log }, url) => ({ requests: listRequests(log, url.searchParams.get('requestId')) })],
  ['GET /admin/stats', (_req, { processes, log }) => ({ engines: processes.map((process) => toStats(process, log)) })],
  ['POST /admin/config', configure],
  ['POST /admin/pause', (req, context) => order(req, context, ({ engine }) => engine.pause())],
  ['POST /admin/resume', (req, context) => order(req, context, ({ engine }) => engine.resume())],
  ['POST /admin/state', setState],
  ['GET /admin/faults', (_req, { faultRules }) => ({ faults: faultRules.list() })],
  ['POST /admin/faults', addFaults],
  ['DELETE /admin/faults', clearFaults],
]);

/** The side door for whoever scripts the engines (README, Admin port). Nothing on the data path knows it. */
export function createAdminListener(context: AdminContext): RequestListener {
  return (req, res) => {
    const url = URL.parse(req.url ?? '/', 'http://admin');
    const handler = handlers.get(`${req.method} ${url?.pathname}`);
    if (url && handler) void answer(handler, { req, res, url }, context);
    else sendError(res, notFound('Not Found'), 'nested');
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
    if (!res.destroyed) sendError(res, error instanceof EngineError ? error : internalError(), 'nested');
  }
}

const listRequests = (log: RequestLog, requestId: string | null): ServedRequest[] =>
  requestId === null ? log.list() : log.list().filter((entry) => entry.requestId === requestId);

async function configure(req: IncomingMessage, { processes }: AdminContext): Promise<object> {
  const { port, ...knobs } = await readJson(req, configSchema);
  const given = Object.fromEntries(Object.entries(knobs).filter(([, value]) => value !== undefined)) as Partial<Knobs>;
  for (const { engine } of targeted(processes, port)) engine.configure(given);
  return { engines: processes.map(({ engine }) => ({ port: engine.config.port, ...engine.knobs })) };
}

async function order(
  req: IncomingMessage,
  { processes }: AdminContext,
  act: (process: EngineProcess) => void,
): Promise<object> {
  const hasBody = Number(req.headers['content-length'] ?? 0) > 0;
  const { port } = hasBody ? await readJson(req, targetSchema) : {};
  for (const process of targeted(processes, port)) act(process);
  return { engines: processes.map(({ engine }) => ({ port: engine.config.port, isPaused: engine.isPaused })) };
}

async function setState(req: IncomingMessage, { processes }: AdminContext): Promise<object> {
  const { port, state } = await readJson(req, stateSchema);
  await Promise.all(targeted(processes, port).map((process) => process.become(state)));
  return { engines: processes.map(({ engine, state: now }) => ({ port: engine.config.port, state: now })) };
}

async function addFaults(req: IncomingMessage, { faultRules }: AdminContext): Promise<object> {
  faultRules.add(await readJson(req, faultRulesSchema));
  return { faults: faultRules.list() };
}

function clearFaults(_req: IncomingMessage, { faultRules }: AdminContext): object {
  faultRules.clear();
  return { faults: [] };
}

function targeted(processes: readonly EngineProcess[], port: number | undefined): readonly EngineProcess[] {
  const chosen = port === undefined ? processes : processes.filter(({ engine }) => engine.config.port === port);
  if (chosen.length === 0) {
    throw new EngineError({ status: 404, type: 'NotFoundError', message: `no engine on port ${port}`, param: 'port' });
  }
  return chosen;
}

function toStats({ engine, state }: EngineProcess, log: RequestLog): object {
  const { metrics, config, runningCount, waitingCount, isPaused, isSleeping, kvCacheUsage } = engine;
  return {
    port: config.port,
    model: config.servedModelName,
    state,
    isPaused,
    isSleeping,
    running: runningCount,
    waiting: waitingCount,
    kvCacheUsage,
    promptTokens: metrics.promptTokens,
    completionTokens: metrics.generationTokens,
    cachedTokens: metrics.prefixCacheHits,
    preemptions: metrics.preemptions,
    requests: log.totalsOf(config.port),
  };
}
