import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import type { EndedCall, Hold } from '@turnpike/holds/call/pendingCalls';
import type { Logger } from '@turnpike/logging/createLogger';
import type { ObjectStore } from '@turnpike/object-store/objectStore';
import type { MediaMetrics } from '@turnpike/telemetry/mediaMetrics';
import type { Db } from '../../database/createDb.ts';
import type { ClipSettings, Dialect, Replica } from '../../terms/backend.ts';
import type { Estimate } from '../estimate.ts';
import type { JobRow } from '../table/jobRow.ts';
import type { RunTimes } from '../table/takeQueued.ts';
import type { TextKeys } from '../textKeys.ts';
import type { Workshop } from './workshop.ts';

/** How a job ends, as its charge goes by it. */
export type JobEnding = { status: 'success'; units: number } | { status: 'failure'; reason: string };

/** What jobs need of the money. */
export interface JobMoney {
  /** The name under which this process holds. */
  owner: string;
  /** The completion event. Its end is set by the database, as the row ends. */
  toEvent(job: JobRow, ending: JobEnding): UsageRecorded;
  settle(ended: EndedCall & { event: UsageRecorded }): Promise<boolean>;
  /** Settles a call that another owner has settled or will: it is counted there. */
  settleAgain(ended: EndedCall & { event: UsageRecorded }): Promise<boolean>;
  /** Whether this process holds money for the call. */
  isHeld(callId: string): boolean;
  putBack(holds: Hold[]): Promise<void>;
  release(hold: Hold): Promise<void>;
}

/** What jobs need of the replicas. */
export interface JobBackends {
  /** Those of the file, with whether each can be given something now. */
  list(): readonly { replica: Replica; isUp: boolean }[];
  dialectOf(replica: Replica): Dialect;
}

/** What is counted of jobs. */
export type JobMetrics = Pick<
  MediaMetrics,
  | 'jobEnded'
  | 'attemptEnded'
  | 'bytesStored'
  | 'bytesRemoved'
  | 'storeFailed'
  | 'orphanRemoved'
  | 'strayRemoved'
  | 'observeJobs'
>;

/** All that the life of a job goes by. */
export interface House {
  db: Db;
  store: Pick<ObjectStore, 'put' | 'get' | 'head' | 'delete' | 'list' | 'removeUnfinished'>;
  texts: TextKeys;
  backends: JobBackends;
  workshop: Workshop;
  money: JobMoney;
  estimate: Estimate;
  clipSettingsOf(model: string): ClipSettings;
  /** Media models that are in the catalog and not to be run. */
  disabledModels(): readonly string[];
  activePerKey: number;
  leaseMs: number;
  /** Longest time that a creation whose row is in doubt holds money. */
  undoMs: number;
  runTimes: RunTimes;
  metrics: JobMetrics;
  log: Logger;
}
