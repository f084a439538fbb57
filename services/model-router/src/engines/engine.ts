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

/** What is under way on an engine. Kept by whoever exchanges bytes with it. */
export interface EngineTraffic {
  openCalls: number;
  /** When the first of them found it idle, by `performance.now()`. */
  busySinceMs: number;
  /** When the engine last sent anything of a call's answer, by `performance.now()`. */
  heardAtMs: number;
}

/** A call that has heard nothing from its engine yet. */
export interface UnheardCall {
  readonly isStream: boolean;
  /** Called, perhaps again and again, when the engine turns out not to answer: the call goes elsewhere if it may. */
  leave(): void;
}

/**
 * An engine as operators see it.
 * - `starting`: it has not produced a token yet.
 * - `ready`: it works.
 * - `out`: it is left out, for the reason given, until it has produced a token again.
 * - `draining`: it takes nothing new and finishes what it has.
 */
export type EngineState = 'starting' | 'ready' | 'out' | 'draining';

export interface EngineOptions {
  nowMs: () => number;
  random: () => number;
  /** Ids of the engines that an operator holds back now. */
  cordoned: ReadonlySet<string>;
  room: RoomLimits;
  dialect: Dialect;
  /** Called when it serves something else than before. */
  onServes?: () => void;
}

/** One serving engine with all that this router knows of it: its identity, and its health, load and room, fed by one report. */
export class Engine {
  /** Its own, also among the engines of one routing target; the same on every router. */
  readonly id: string;
  /** Scheme, host and port. */
  readonly origin: string;
  /** Both, as every router names it. */
  readonly name: string;
  /** What carries calls. */
  readonly connections: UpstreamConnections;
  /** What carries the router's own questions. */
  readonly pool: Pool;
  /** How it is spoken to. */
  readonly dialect: Dialect;
  readonly health: EngineHealth;
  readonly load: EngineLoad;
  readonly room: EngineRoom;
  readonly traffic: EngineTraffic = { openCalls: 0, busySinceMs: 0, heardAtMs: Number.NEGATIVE_INFINITY };
  readonly unheardCalls = new OrderedSet<UnheardCall>();
  /** Whether the ids of its answers repeat those of their calls. */
  repeatsCallIds = false;
  /** Changed by `relist`, and so are the next three. */
  listed!: ListedEngine;
  /** The routing target it belongs to: what a usage row names as `model`. It says nothing of addresses. */
  target!: string;
  /** The canonical model it is listed for; undefined where what it serves decides. */
  configuredModel: string | undefined;
  weight!: number;
  /** Names it answers to, first one first. */
  servedNames: readonly string[] = [];
  /** Tokens that prompt and answer have together. */
  windowTokens: number | undefined;
  /** False once it is gone from the list: it finishes what it has, and is forgotten. */
  isListed = true;
  version: string | undefined;
  /** What it said of itself last. */
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

  /** Takes over how it is listed now. */
  relist(listed: ListedEngine): void {
    this.listed = listed;
    this.target = listed.entry.id;
    this.configuredModel = listed.entry.model;
    this.weight = listed.entry.weight;
  }

  /** What it serves, as it last said. */
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

  /** Whether it takes new calls. */
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

  /** The state where it changed since this was asked last. */
  noteState(): EngineState | undefined {
    const { state } = this;
    if (state === this.#lastState) return undefined;
    this.#lastState = state;
    this.#stateSince = new Date();
    return state;
  }

  /** Engines of one pool stand in for each other. */
  get poolName(): string | undefined {
    return this.configuredModel ?? this.servedNames[0];
  }

  /** Takes over what it says of itself. A count that fell is one that began anew, and the caches with it. */
  takeReport(report: EngineReport): void {
    if ((report.prefixQueries ?? 0) < (this.report?.prefixQueries ?? 0)) this.load.restarted();
    this.report = report;
    this.load.take(report);
    this.room.take(report);
  }

  tryOut(trial: Trial): void {
    void this.dialect.sendTrial(this.pool, this.servedNames[0] ?? '', trial);
  }

  /** Nothing new is sent to it; what is under way ends. */
  async close(): Promise<void> {
    this.connections.close();
    await this.pool.close();
  }

  /** As `close`, and whatever has been asked of it breaks off. */
  async destroy(): Promise<void> {
    this.connections.close();
    await this.pool.destroy();
  }
}

/** Returns the name of an engine on every router. Several engines may have one id, at other addresses. */
export const toEngineName = ({ id, origin }: Pick<ListedEngine, 'id' | 'origin'>): string => `${id} ${origin}`;

/** Which name an engine serves a model under; undefined if it does not. */
export function servedNameOf(
  engine: Pick<Engine, 'servedNames' | 'configuredModel'>,
  model: PricedModel,
): string | undefined {
  const { id, huggingFaceId, aliases } = model;
  const { servedNames } = engine;
  for (const name of servedNames) if (name === id || name === huggingFaceId || aliases.includes(name)) return name;
  return engine.configuredModel === id ? servedNames[0] : undefined;
}

/** Errors by which an engine's host, or its name server, says that nobody listens. Any other may be this router's own trouble. */
const REFUSALS = new Set<unknown>(['ECONNREFUSED', 'ENOTFOUND']);

/** Whether an error says that there is no engine. */
export const isRefusal = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && REFUSALS.has(error.code);

/** The connections that carry calls to an engine. Each is opened when a call needs it. */
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
