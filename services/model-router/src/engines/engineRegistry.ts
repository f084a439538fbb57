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

/** What a call has to tell of its engine. */
export type CallNews =
  | { kind: 'completed'; workspaceId: string }
  /** It broke off, or failed with a status of its own. That may be the call's doing. */
  | { kind: 'failed'; workspaceId: string }
  /** It said nothing in time, which a call can bring about as well. */
  | { kind: 'silent' }
  /** No connection stood in time. */
  | { kind: 'unreached' }
  /** Nobody listens there. */
  | { kind: 'refused' };

/** The live view of the region's engines. */
export interface EngineRegistry {
  /** Engines listed for a model or known to serve it, healthy or not. */
  findEngines(model: PricedModel): readonly Engine[];
  /** Whether an entry names the model, though no engine stands behind it now. */
  isConfigured(model: PricedModel): boolean;
  /** The model as its engines can serve it: with their window, where that is smaller than the catalog says. */
  fitWindow(model: PricedModel): PricedModel;
  /** Every engine of the region. */
  list(): readonly Engine[];
  report(engine: Engine, news: CallNews): void;
  /** Targets whose engines cannot be listed. */
  listTargetFaults(): TargetFault[];
  /** Why the engines file cannot be used. Undefined while it is in force. */
  fileFault(): FileFault | undefined;
  /** How many calls may be tried again. */
  readonly retries: RetryBudget;
  close(): Promise<void>;
}

export interface EngineRegistryOptions {
  enginesFile: string;
  /** Undefined outside a cluster. */
  kubernetes: KubernetesApi | undefined;
  /** Ids of the engines that an operator has cordoned. */
  cordoned: ReadonlySet<string>;
  /** What each engine is given before it has shown what it can carry. */
  room: RoomLimits;
  metrics: Pick<InferenceMetrics, 'engineEjected' | 'engineProbed' | 'alerted'>;
  log: Logger;
}

/**
 * Keeps the region's engines: finds them, looks after each, and leaves out those that fail. An engine is left out at once
 * when it cannot be reached or cannot produce a token; for what clients' calls come to, only while half of the model's engines
 * remain. The last engine of a model stays, unless its host or the engine itself says that it is gone. Throws one line when the
 * engines file cannot be used.
 */
export function createEngineRegistry(options: EngineRegistryOptions): EngineRegistry {
  const { enginesFile, kubernetes, cordoned, room, metrics, log } = options;
  const nowMs = () => performance.now();
  const members = new Map<string, { engine: Engine; watch: EngineWatch }>();
  const list = (): Engine[] => [...members.values()].map(({ engine }) => engine);
  const alertedWindows = new Map<string, number>();
  /** What is known of a model by its engines, until one of them comes, goes or serves something else: every call asks for it. */
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

  /** Makes the fleet what the list says; an engine that is no longer there finishes what it has. */
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
    // Whoever listens there next has nothing cached.
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

  /** Keeps the engine that was doubted least recently, where suspicion alone leaves a model without engines. */
  function keepOne(pool: readonly Engine[]): void {
    if (pool.some(({ isHealthy }) => isHealthy)) return;
    const [kept] = pool
      .filter(({ health }) => health.isSuspect)
      .toSorted((a, b) => a.health.doubtedAtMs - b.health.doubtedAtMs);
    if (kept) keep(kept, kept.health.outReason);
  }

  /**
   * Leaves an engine out that does not answer, and tells the calls that wait there for a first word. Streams come first to
   * what retries there are: a whole answer has longer to wait for the next chance.
   */
  function giveUp(engine: Engine, reason: OutReason): void {
    leaveOut(engine, reason);
    const isHeard = nowMs() - engine.traffic.heardAtMs < HEARD_WITHIN_MS;
    // One that takes no connections while it drains is as it should be: it finishes what it has.
    if (isHeard || (reason === 'refused' && engine.isDraining)) return;
    const calls = [...engine.unheardCalls].sort((a, b) => Number(b.isStream) - Number(a.isStream));
    for (const call of calls) call.leave();
  }

  /** Leaves an engine out that may be well: only as long as enough others are. */
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
      // Not waited for: a name server may take its time, and nothing is done with its answer any more.
      void addresses.close();
      await Promise.all([ticking.close(), file.close(), endpoints?.close()]);
      // What a watch has asked ends with the connections.
      await Promise.all(list().map((engine) => engine.destroy()));
      await Promise.all(watched);
    },
  };
}
