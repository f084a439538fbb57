import { readFileSync } from 'node:fs';
import type { Logger } from '@turnpike/logging/createLogger';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import { Pool } from 'undici';
import { z } from 'zod';
import type { PricedModel } from '../catalog/catalog.ts';
import { PrefixIndex } from './prefixIndex.ts';

const PROBE_MS = 2_000;
/** Broken calls on end after which an engine is left out, though it answers probes. */
const MAX_BROKEN_CALLS = 5;
/** A server that is no vLLM may have no such path; that it lists its models says enough. */
const HEALTHY_STATUSES = new Set([200, 404, 405]);
/** Probes missed on end after which an engine is left out: a busy one may be late once. */
const MAX_MISSED_PROBES = 2;
const PROBE_TIMEOUT_MS = 2_000;
/** Below the 5 s after which vLLM closes an idle connection, so that a call is not sent into a closing one. */
const IDLE_CONNECTION_MS = 4_000;
const CONNECT_TIMEOUT_MS = 1_000;
const MAX_CONNECTIONS = 4_096;

const enginesFileSchema = z.object({
  engines: z
    .array(
      z.strictObject({
        id: z.string().min(1),
        url: z.url(),
        /** Canonical model; without it the engine is known for a model only once it has answered. */
        model: z.string().optional(),
      }),
    )
    .refine((engines) => new Set(engines.map(({ id }) => id)).size === engines.length, 'an engine id stands twice'),
});

const modelsAnswerSchema = z.object({ data: z.array(z.looseObject({ id: z.string() })).min(1) });

/** One serving engine: where it is, what it serves, how it is doing, what it is busy with. */
export interface Engine {
  /** The routing target's id: what a usage row names as `model`. */
  readonly id: string;
  /** Scheme, host and port. */
  readonly origin: string;
  readonly pool: Pool;
  readonly configuredModel: string | undefined;
  /** Names the engine answers to, first one first, as it last said. */
  servedNames: string[];
  isHealthy: boolean;
  /** Probes it did not answer, one after the other. */
  missedProbes: number;
  /** Calls it broke off, one after the other, with none completed between. */
  brokenCalls: number;
  /** Tokens of calls under way: uncached prompt and what they may still produce. */
  tokensInFlight: number;
  readonly prefixes: PrefixIndex;
}

export interface EngineRegistry {
  /** Engines configured for a model, healthy or not. */
  findEngines(model: PricedModel): Engine[];
  /** Every engine of the region. */
  list(): readonly Engine[];
  /** Nobody could connect to it: it is out until it answers a probe. */
  reportRefusal(engine: Engine): void;
  /**
   * It broke a call off. That may be the call's doing, so the engine is asked at once how it is, and is left out only
   * after five such calls on end, as long as another one is there for the model.
   */
  reportBrokenCall(engine: Engine): void;
  reportCompletedCall(engine: Engine): void;
  close(): Promise<void>;
}

/** Reads the engines file. Throws one line naming the file and what is wrong. */
function readEnginesFile(path: string): { id: string; url: string; model?: string | undefined }[] {
  try {
    return enginesFileSchema.parse(JSON.parse(readFileSync(path, 'utf8'))).engines;
  } catch (error) {
    const reason =
      error instanceof z.ZodError
        ? error.issues.map(({ path: at, message }) => `${at.join('.')}: ${message}`).join('; ')
        : String(error);
    throw new Error(`ENGINES_FILE ${path} cannot be used: ${reason}`, { cause: error });
  }
}

/** Which name an engine serves a model under; undefined if it does not. */
export function servedNameOf(engine: Engine, model: PricedModel): string | undefined {
  const names = [model.id, model.huggingFaceId, ...model.aliases];
  return (
    engine.servedNames.find((name) => names.includes(name)) ??
    (engine.configuredModel === model.id ? engine.servedNames[0] : undefined)
  );
}

/** Keeps the live view of the region's engines by asking each, every 2 s, for its health and what it serves. */
export function createEngineRegistry({
  enginesFile,
  metrics,
  log,
}: {
  enginesFile: string;
  metrics: Pick<InferenceMetrics, 'engineEjected'>;
  log: Logger;
}): EngineRegistry {
  const engines = readEnginesFile(enginesFile).map(
    ({ id, url, model }): Engine => ({
      id,
      origin: new URL(url).origin,
      pool: new Pool(new URL(url).origin, {
        connections: MAX_CONNECTIONS,
        pipelining: 1,
        keepAliveTimeout: IDLE_CONNECTION_MS,
        keepAliveMaxTimeout: IDLE_CONNECTION_MS,
        connect: { timeout: CONNECT_TIMEOUT_MS },
      }),
      configuredModel: model,
      servedNames: [],
      isHealthy: false,
      missedProbes: 0,
      brokenCalls: 0,
      tokensInFlight: 0,
      prefixes: new PrefixIndex(),
    }),
  );

  let isClosed = false;

  async function probe(engine: Engine): Promise<void> {
    const wasHealthy = engine.isHealthy;
    try {
      const signal = AbortSignal.timeout(PROBE_TIMEOUT_MS);
      const health = await engine.pool.request({ method: 'GET', path: '/health', signal });
      await health.body.dump();
      const models = await engine.pool.request({ method: 'GET', path: '/v1/models', signal });
      const answer = await models.body.text();
      if (!HEALTHY_STATUSES.has(health.statusCode) || models.statusCode !== 200)
        throw new Error(`answered ${health.statusCode} and ${models.statusCode}`);
      engine.servedNames = modelsAnswerSchema.parse(JSON.parse(answer)).data.map(({ id }) => id);
      if (!engine.isHealthy) engine.brokenCalls = 0;
      engine.isHealthy = true;
    } catch (error) {
      if (isClosed) return;
      engine.missedProbes += 1;
      const isGone = error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED';
      if (isGone || engine.missedProbes >= MAX_MISSED_PROBES)
        eject(engine, error instanceof Error ? error.message : 'it does not answer');
      return;
    }
    engine.missedProbes = 0;
    if (engine.isHealthy && !wasHealthy) log.info({ engine: engine.id, serves: engine.servedNames[0] }, 'engine is in');
  }

  function eject(engine: Engine, reason: string): void {
    if (!engine.isHealthy) return;
    engine.isHealthy = false;
    metrics.engineEjected(engine);
    log.warn({ engine: engine.id, reason }, 'engine is out');
  }

  const hasStandIn = (engine: Engine): boolean =>
    engines.some(
      (other) =>
        other !== engine && other.isHealthy && other.servedNames.some((name) => engine.servedNames.includes(name)),
    );

  // Each engine has its own round, so that one that answers late delays no other's return.
  const timers = new Map<Engine, NodeJS.Timeout>();
  const probing = new Set<Engine>();
  async function probeNow(engine: Engine): Promise<void> {
    if (probing.has(engine)) return;
    probing.add(engine);
    clearTimeout(timers.get(engine));
    await probe(engine);
    probing.delete(engine);
    if (isClosed) return;
    const timer = setTimeout(() => void probeNow(engine), engine.isHealthy ? PROBE_MS : PROBE_MS / 4);
    timer.unref();
    timers.set(engine, timer);
  }
  for (const engine of engines) void probeNow(engine);

  return {
    findEngines: (model) =>
      engines.filter((engine) => engine.configuredModel === model.id || servedNameOf(engine, model) !== undefined),
    list: () => engines,
    reportRefusal(engine) {
      eject(engine, 'it refused a connection');
      void probeNow(engine);
    },
    reportBrokenCall(engine) {
      engine.brokenCalls += 1;
      if (engine.brokenCalls >= MAX_BROKEN_CALLS && hasStandIn(engine)) eject(engine, 'it broke off call after call');
      else void probeNow(engine);
    },
    reportCompletedCall(engine) {
      engine.brokenCalls = 0;
    },
    async close() {
      isClosed = true;
      for (const timer of timers.values()) clearTimeout(timer);
      await Promise.all(engines.map(({ pool }) => pool.destroy()));
    },
  };
}
