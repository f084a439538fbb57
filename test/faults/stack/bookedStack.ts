import type { Cluster, Redis } from 'ioredis';
import type pg from 'pg';
import type { MediaBackend } from './mediaBackends.ts';
import type { MediaModels } from './mediaModels.ts';
import type { Operator } from './operator.ts';
import type { Simulator } from './simulators.ts';

/** A region under load whose books can be read: all that a cell needs of it that breaks nothing itself. */
export interface BookedStack {
  baseUrl: string;
  /** The models of the load. */
  models: readonly string[];
  mediaModels: MediaModels;
  /** How long a hold outlives whoever took it. */
  leaseMs: number;
  /** When a part was killed or frozen, in milliseconds of the Unix time. */
  readonly struckAt: readonly number[];
  readonly simulators: readonly Simulator[];
  readonly mediaBackends: readonly MediaBackend[];
  operator: Operator;
  ledger: pg.Pool;
  catalog: pg.Pool;
  media: pg.Pool;
  readonly redis: Redis | Cluster;
  /** Waits until every service says that it can serve. Sends no call. */
  untilReady(): Promise<void>;
}
