import { type FileFault, followEntriesFile } from '@turnpike/lifecycle/followEntriesFile';
import { repeat } from '@turnpike/lifecycle/repeat';
import type { Logger } from '@turnpike/logging/createLogger';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import type { PricedModel } from '../catalog/catalog.ts';
import { findOutliers, isFact, mayLeaveOut, type OutReason, RetryBudget } from '../health/engineHealth.ts';
import { describeLoss, engineEntriesSchema } from './discovery/engineEntries.ts';
import { followAddresses, type ListedEngine, type TargetFault } from './discovery/followAddresses.ts';
import { createEndpointLister, type KubernetesApi } from './discovery/listEndpoints.ts';
import { systemNameServer } from './discovery/resolveDns.ts';
import { Engine, servedNameOf, toEngineName } from './engine.ts';
import type { RoomLimits } from './engineRoom.ts';
import { HEARD_WITHIN_MS, OUTLIER_ROUND_MS } from './terms/limits.ts';
import { vllm } from './vllm/vllm.ts';
import { type EngineWatch, watchEngine } from './watchEngine.ts';

/** A call's report about its engine. */
export type CallNews =
  | { kind: 'completed'; workspaceId: string }
  /** The exchange broke off or failed with an HTTP status. The call itself may be the cause. */
  | { kind: 'failed'; workspaceId: string }
  /** The engine did not answer in time. The call itself may be the cause. */
  | { kind: 'silent' }
  /** No connection was open in time. */
  | { kind: 'unreached' }
  /** No process listens at the engine's address. */
  | { kind: 'refused' };

/** The live view of the region's engines. */
export interface EngineRegistry {
  /** Engines listed for a model or known to serve it, healthy or not. */
  findEngines(model: PricedModel): readonly Engine[];
  /** Whether an entry of the engines file names the model, even if it has no engine now. */
  isConfigured(model: PricedModel): boolean;
  /** Returns the model with the window of its engines, if theirs is smaller than the catalog's. */
  fitWindow(model: PricedModel): PricedModel;
  /** Every engine of the region. */
  list(): readonly Engine[];
  report(engine: Engine, news: CallNews): void;
  /** Routing targets whose engines cannot be listed. */
  listTargetFaults(): TargetFault[];
  /** Why the engines file cannot be used. Undefined while it is in use. */
  fileFault(): FileFault | undefined;
  /** The budget of retries. */
  readonly retries: RetryBudget;
  close(): Promise<void>;
}

export interface EngineRegistryOptions {
  enginesFile: string;
  /** Undefined outside a cluster. */
  kubernetes: KubernetesApi | undefined;
  /** Ids of the engines that an operator has cordoned. */
  cordoned: ReadonlySet<string>;
  /** Limits of an engine's load until its reports show its capacity. */
  room: RoomLimits;
  metrics: Pick<InferenceMetrics, 'engineEjected' | 'engineProbed' | 'alerted'>;
  log: Logger;
}

/**
 * Keeps the region's engines: finds them, watches each, and leaves out those that fail. An engine that is unreachable
 * or produces no token is left out at once. Failed calls alone leave an engine out only while half of the model's
 * engines remain. The last engine of a model stays, unless its host or the engine itself reports that it is gone.
 * Throws a one-line error if the engines file cannot be used.
 */
export function createEngineRegistry(options: EngineRegistryOptions): EngineRegistry {
  const { enginesFile, kubernetes, cordoned, room, metrics, log } = options;
  const nowMs = () => performance.now();
  const members = new Map<string, { engine: Engine; watch: EngineWatch }>();
  const list = (): Engine[] => [...members.values()].map(({ engine }) => engine);
  const alertedWindows = new Map<string, number>();
  /**
   * Engines and window by model, cached because every call needs them. Cleared when an engine comes, goes or serves
   * other models.
   */
  let known = new WeakMap<PricedModel, { engines: readonly Engine[]; fitted: PricedModel }>();
  const forgetKnown = (): void => {
    known = new WeakMap();
  };

  const file = followEntriesFile(enginesFile, {
    setting: 'ENGINES_FILE',
    schema: engineEntriesSchema,
    describeLoss,
    onChange: reconcile,
    log,
  });
  const endpoints = kubernetes && createEndpointLister(kubernetes);
  const addresses = followAddresses({
    entries: file.entries,
    nameServer: systemNameServer(),
    endpoints,
    onChange: reconcile,
    log,
  });

  /** Makes the fleet match the list. An engine that is no longer listed finishes its calls. */
  function reconcile(): void {
    const listed = addresses.list();
    const wanted = new Set(listed.map(toEngineName));
    for (const [key, { engine }] of members) engine.isListed = wanted.has(key);
    for (const entry of listed) {
      const member = members.get(toEngineName(entry));
      if (member) member.engine.relist(entry);
      else add(entry);
    }
    forgetKnown();
  }

  function add(listed: ListedEngine): void {
    const engine = new Engine(listed, {
      nowMs,
      random: Math.random,
      cordoned,
      room,
      dialect: vllm,
      onServes: forgetKnown,
    });
    const watch = watchEngine(engine, {
      leaveOut: giveUp,
      onProbed: (probed, result) => metrics.engineProbed(probed, result),
      log,
    });
    members.set(engine.name, { engine, watch });
  }

  function leaveOut(engine: Engine, reason: OutReason): void {
    // The next process at this address has an empty cache.
    if (reason === 'refused') engine.load.restarted();
    const { health } = engine;
    const isLast = health.takesCalls && !poolOf(engine).some((other) => other !== engine && other.isHealthy);
    if (isLast && !isFact(reason)) {
      keep(engine, reason);
      return;
    }
    if (!health.leaveOut(reason)) return;
    metrics.engineEjected(engine, reason);
    log.warn({ engine: engine.id, reason }, 'engine is out');
    keepOne(poolOf(engine));
  }

  function keep(engine: Engine, reason: OutReason | undefined): void {
    if (engine.health.keep()) log.warn({ engine: engine.id, reason }, 'engine is doubted, but the last of its model');
  }

  /** Keeps the engine that was doubted least recently, if suspicion alone left a model without engines. */
  function keepOne(pool: readonly Engine[]): void {
    if (pool.some(({ isHealthy }) => isHealthy)) return;
    const [kept] = pool
      .filter(({ health }) => health.isSuspect)
      .toSorted((a, b) => a.health.doubtedAtMs - b.health.doubtedAtMs);
    if (kept) keep(kept, kept.health.outReason);
  }

  /**
   * Leaves out an engine that does not answer, and moves the calls that wait there for a first byte. Streams get the
   * available retries first, because a non-streaming answer has more time for the next chance.
   */
  function giveUp(engine: Engine, reason: OutReason): void {
    leaveOut(engine, reason);
    const isHeard = nowMs() - engine.traffic.heardAtMs < HEARD_WITHIN_MS;
    // A draining engine may refuse connections while it finishes its calls.
    if (isHeard || (reason === 'refused' && engine.isDraining)) return;
    const calls = [...engine.unheardCalls].sort((a, b) => Number(b.isStream) - Number(a.isStream));
    for (const call of calls) call.leave();
  }

  /** Leaves out an engine on suspicion. Returns false, and changes nothing, if too few others are healthy. */
  function suspect(engine: Engine, reason: OutReason): boolean {
    const mayGo = isSpare(engine);
    if (mayGo) leaveOut(engine, reason);
    return mayGo;
  }

  const isSpare = (engine: Engine): boolean => mayLeaveOut(engine, poolOf(engine));

  const poolOf = ({ poolName }: Engine): Engine[] =>
    list().filter((engine) => engine.poolName === poolName && !engine.isDraining);

  function tick(): void {
    for (const engine of list()) {
      if (!engine.isListed && engine.traffic.openCalls === 0) forget(engine);
      engine.connections.closeStale();
      const state = engine.noteState();
      if (state === 'ready') log.info({ engine: engine.id, serves: engine.servedNames[0] }, 'engine is in');
      if (state === 'draining') log.info({ engine: engine.id }, 'engine takes nothing new');
    }
    for (const pool of Map.groupBy(list(), ({ poolName }) => poolName).values()) {
      const fleet = pool.filter(({ isHealthy }) => isHealthy);
      const summaries = fleet.map((engine) => ({ engine, summary: engine.health.recent.summarize() }));
      for (const engine of findOutliers(summaries)) suspect(engine, 'fails_more');
      keepOne(pool.filter(({ isDraining }) => !isDraining));
    }
  }

  function forget(engine: Engine): void {
    void members.get(engine.name)?.watch.close();
    members.delete(engine.name);
    forgetKnown();
    void engine.close();
    log.info({ engine: engine.id }, 'engine is gone');
  }

  reconcile();
  const ticking = repeat(tick, {
    pauseMs: OUTLIER_ROUND_MS,
    pausesFirst: true,
    log,
    failing: 'the fleet is not looked after',
  });

  function learn(model: PricedModel): { engines: readonly Engine[]; fitted: PricedModel } {
    const engines = list().filter(
      (engine) => engine.configuredModel === model.id || servedNameOf(engine, model) !== undefined,
    );
    const found = { engines, fitted: fitWindow(model, engines) };
    known.set(model, found);
    return found;
  }

  function fitWindow(model: PricedModel, engines: readonly Engine[]): PricedModel {
    const windows = engines.map(({ windowTokens }) => windowTokens ?? model.contextLength);
    const window = Math.min(model.contextLength, ...windows);
    if (window === model.contextLength) return model;
    if (alertedWindows.get(model.id) !== window) {
      alertedWindows.set(model.id, window);
      metrics.alerted('engine_window_too_small');
      log.error(
        { model: model.id, catalogTokens: model.contextLength, engineTokens: window },
        'ALERT an engine has a smaller window than the catalog says: calls are bounded by the smaller one',
      );
    }
    return { ...model, contextLength: window, maxOutputLength: Math.min(model.maxOutputLength, window) };
  }

  return {
    findEngines: (model) => (known.get(model) ?? learn(model)).engines,
    isConfigured: (model) => file.entries().some((entry) => entry.model === model.id),
    fitWindow: (model) => (known.get(model) ?? learn(model)).fitted,
    list,
    report(reported, news) {
      const member = members.get(reported.name);
      if (!member) return;
      const { engine, watch } = member;
      const { health } = engine;
      const maySuspend = () => isSpare(engine);
      switch (news.kind) {
        case 'completed':
          health.completed(news.workspaceId);
          return;
        case 'refused':
          giveUp(engine, 'refused');
          return;
        case 'unreached':
          giveUp(engine, 'unreachable');
          return;
        case 'failed':
          if (health.failed(news.workspaceId, maySuspend) && suspect(engine, 'failed_calls')) return;
          break;
        case 'silent':
          health.doubt(maySuspend);
      }
      watch.doubt();
    },
    listTargetFaults: addresses.listFaults,
    fileFault: file.fault,
    retries: new RetryBudget(nowMs),
    async close() {
      const watched = Array.from(members.values(), ({ watch }) => watch.close());
      // This close is not awaited, because a name server may be slow and its answer is no longer used.
      void addresses.close();
      await Promise.all([ticking.close(), file.close(), endpoints?.close()]);
      // The requests of the watches end with the connections.
      await Promise.all(list().map((engine) => engine.destroy()));
      await Promise.all(watched);
    },
  };
}
