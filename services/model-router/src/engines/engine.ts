import { isDeepStrictEqual } from 'node:util';
import { OrderedSet } from '@turnpike/lifecycle/orderedSet';
import {
  openEncryptedSocket,
  openSocket,
  UpstreamConnections,
} from '@turnpike/upstream-connections/upstreamConnections';
import { Pool } from 'undici';
import type { PricedModel } from '../catalog/catalog.ts';
import { EngineHealth } from '../health/engineHealth.ts';
import type { ListedEngine } from './discovery/followAddresses.ts';
import { EngineLoad } from './engineLoad.ts';
import { EngineRoom, type RoomLimits } from './engineRoom.ts';
import type { Dialect, EngineReport, ServedModels, Trial } from './terms/dialect.ts';
import {
  CONNECT_TIMEOUT_MS,
  IDLE_CONNECTION_MS,
  MAX_CONNECTING,
  MAX_IDLE_CONNECTIONS,
  MAX_QUESTIONS,
} from './terms/limits.ts';

/** The traffic on an engine. Updated by each exchange of bytes with it. */
export interface EngineTraffic {
  openCalls: number;
  /** Time when the first open call found the engine idle, by `performance.now()`. */
  busySinceMs: number;
  /** Time of the last bytes of an answer from the engine, by `performance.now()`. */
  heardAtMs: number;
}

/** A call without any byte from its engine so far. */
export interface UnheardCall {
  readonly isStream: boolean;
  /**
   * Called, possibly several times, when the engine turns out not to answer. The call moves to another engine if it
   * may.
   */
  leave(): void;
}

/**
 * An engine's state as operators see it.
 * - `starting`: it has not produced a token yet.
 * - `ready`: it works.
 * - `out`: it is left out, for the given reason, until it produces a token again.
 * - `draining`: it takes no new call and finishes those it has.
 */
export type EngineState = 'starting' | 'ready' | 'out' | 'draining';

export interface EngineOptions {
  nowMs: () => number;
  random: () => number;
  /** Ids of the engines that an operator has cordoned. */
  cordoned: ReadonlySet<string>;
  room: RoomLimits;
  dialect: Dialect;
  /** Called when the engine serves other models than before. */
  onServes?: () => void;
}

/** One serving engine: its identity, and this router's view of its health, load and room, fed by one report. */
export class Engine {
  /** Unique within a routing target as well, and the same on every router. */
  readonly id: string;
  /** Scheme, host and port. */
  readonly origin: string;
  /** Id and origin, the name of the engine on every router. */
  readonly name: string;
  /** Connections for clients' calls. */
  readonly connections: UpstreamConnections;
  /** Connections for the router's own requests. */
  readonly pool: Pool;
  /** The engine's paths, bodies and errors. */
  readonly dialect: Dialect;
  readonly health: EngineHealth;
  readonly load: EngineLoad;
  readonly room: EngineRoom;
  readonly traffic: EngineTraffic = { openCalls: 0, busySinceMs: 0, heardAtMs: Number.NEGATIVE_INFINITY };
  readonly unheardCalls = new OrderedSet<UnheardCall>();
  /** Whether the ids of its answers repeat those of their calls. */
  repeatsCallIds = false;
  /** Changed by `relist`, as are the next three fields. */
  listed!: ListedEngine;
  /** The routing target of the engine: the `model` of a usage row. It contains no address. */
  target!: string;
  /** The canonical model that the engine is listed for. Undefined if the served names decide. */
  configuredModel: string | undefined;
  weight!: number;
  /** Model names that the engine answers to, the preferred one first. */
  servedNames: readonly string[] = [];
  /** Limit of prompt and answer together, in tokens. */
  windowTokens: number | undefined;
  /** False once the engine has left the list: it finishes its calls and is then removed. */
  isListed = true;
  version: string | undefined;
  /** The last report of the engine. */
  report: EngineReport | undefined;
  #served: ServedModels = { names: [], windowTokens: undefined };
  #lastState: EngineState = 'starting';
  #stateSince = new Date();
  readonly #cordoned: ReadonlySet<string>;
  readonly #onServes: (() => void) | undefined;

  constructor(listed: ListedEngine, { nowMs, random, cordoned, room, dialect, onServes }: EngineOptions) {
    this.id = listed.id;
    this.origin = listed.origin;
    this.name = toEngineName(listed);
    this.relist(listed);
    this.dialect = dialect;
    this.health = new EngineHealth({ nowMs, random });
    this.load = new EngineLoad(nowMs);
    this.room = new EngineRoom(room, { load: this.load, nowMs });
    this.#cordoned = cordoned;
    this.#onServes = onServes;
    this.connections = openEngineConnections(listed.origin);
    this.pool = new Pool(listed.origin, {
      connections: MAX_QUESTIONS,
      pipelining: 1,
      keepAliveTimeout: IDLE_CONNECTION_MS,
      keepAliveMaxTimeout: IDLE_CONNECTION_MS,
      connect: { timeout: CONNECT_TIMEOUT_MS },
    });
  }

  /** Takes over the engine's current list entry. */
  relist(listed: ListedEngine): void {
    this.listed = listed;
    this.target = listed.entry.id;
    this.configuredModel = listed.entry.model;
    this.weight = listed.entry.weight;
  }

  /** Sets the models that the engine serves by its last report. Calls `onServes` if they changed. */
  set served(served: ServedModels) {
    if (isDeepStrictEqual(served, this.#served)) return;
    this.#served = served;
    this.servedNames = served.names;
    this.windowTokens = served.windowTokens;
    this.#onServes?.();
  }

  get isDraining(): boolean {
    return !this.isListed || this.#cordoned.has(this.id) || this.listed.isDraining;
  }

  /** Whether the engine takes new calls. */
  get isHealthy(): boolean {
    return this.health.takesCalls && !this.isDraining;
  }

  get state(): EngineState {
    if (this.isDraining) return 'draining';
    if (this.health.state !== 'out') return 'ready';
    return this.health.outReason === undefined ? 'starting' : 'out';
  }

  /** The beginning of the current `state`; now if `noteState` has not seen it yet. */
  get since(): Date {
    return this.state === this.#lastState ? this.#stateSince : new Date();
  }

  /** Returns the state if it changed since the last `noteState`, else undefined. */
  noteState(): EngineState | undefined {
    const { state } = this;
    if (state === this.#lastState) return undefined;
    this.#lastState = state;
    this.#stateSince = new Date();
    return state;
  }

  /** Name of the pool. Engines of one pool replace each other. */
  get poolName(): string | undefined {
    return this.configuredModel ?? this.servedNames[0];
  }

  /** Takes over a report. A counter that fell means a restart, which emptied the engine's caches. */
  takeReport(report: EngineReport): void {
    if ((report.prefixQueries ?? 0) < (this.report?.prefixQueries ?? 0)) this.load.restarted();
    this.report = report;
    this.load.take(report);
    this.room.take(report);
  }

  tryOut(trial: Trial): void {
    void this.dialect.sendTrial(this.pool, this.servedNames[0] ?? '', trial);
  }

  /** Closes connections once their exchanges end. Nothing new is sent. */
  async close(): Promise<void> {
    this.connections.close();
    await this.pool.close();
  }

  /** Closes the engine like `close`, but aborts the router's own requests. */
  async destroy(): Promise<void> {
    this.connections.close();
    await this.pool.destroy();
  }
}

/** Returns the name of an engine on every router. Several engines may have one id, at other addresses. */
export const toEngineName = ({ id, origin }: Pick<ListedEngine, 'id' | 'origin'>): string => `${id} ${origin}`;

/** Returns the name under which an engine serves a model. Returns undefined if it does not. */
export function servedNameOf(
  engine: Pick<Engine, 'servedNames' | 'configuredModel'>,
  model: PricedModel,
): string | undefined {
  const { id, huggingFaceId, aliases } = model;
  const { servedNames } = engine;
  for (const name of servedNames) if (name === id || name === huggingFaceId || aliases.includes(name)) return name;
  return engine.configuredModel === id ? servedNames[0] : undefined;
}

/** Errors that prove that nothing listens at an address. All others may be this router's own trouble. */
const REFUSALS = new Set<unknown>(['ECONNREFUSED', 'ENOTFOUND']);

/** Returns whether an error proves that there is no engine. */
export const isRefusal = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && REFUSALS.has(error.code);

/** Creates the connections for calls to an engine. Each is opened when a call needs it. */
function openEngineConnections(origin: string): UpstreamConnections {
  const { protocol, hostname, port } = new URL(origin);
  const isEncrypted = protocol === 'https:';
  const address = {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || (isEncrypted ? 443 : 80)),
    noDelay: true,
  };
  const open = isEncrypted ? openEncryptedSocket : openSocket;
  return new UpstreamConnections({
    connect: (onread) => open({ ...address, onread }, { timeoutMs: CONNECT_TIMEOUT_MS }),
    maxConnecting: MAX_CONNECTING,
    idleMs: IDLE_CONNECTION_MS,
    maxIdle: MAX_IDLE_CONNECTIONS,
  });
}
