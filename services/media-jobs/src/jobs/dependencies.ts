import type { Region } from '@turnpike/config/region';
import type { OpenedHolds } from '@turnpike/holds/openHolds';
import type { Logger } from '@turnpike/logging/createLogger';
import type { ObjectStore } from '@turnpike/object-store/objectStore';
import type { Database } from '@turnpike/postgres/database';
import type { MediaMetrics } from '@turnpike/telemetry/mediaMetrics';
import type { Media } from '../media/createMedia.ts';
import type { Money } from '../money/openMoney.ts';
import type { ClipSettings, Dialect, Replica } from '../terms/backend.ts';
import type { Estimate } from './estimate.ts';
import type { TextKeys } from './textKeys.ts';
import type { RunTimes } from './times.ts';

/** Parts of a process that the life of a job needs. */
export interface JobDependencies {
  db: Pick<Database, 'query' | 'execute' | 'transaction'>;
  region: Region;
  store: Pick<ObjectStore, 'put' | 'get' | 'head' | 'delete' | 'list' | 'removeUnfinished'>;
  texts: TextKeys;
  backends: {
    /** Replicas of the file. `isUp`: the replica can be given a job now. */
    list(): readonly { replica: Replica; isUp: boolean }[];
    dialectOf(replica: Replica): Dialect;
  };
  media: Pick<Media, 'takeImage' | 'takeClip' | 'takeSpeech' | 'convertSpeech' | 'prepareRecording'>;
  /** Folder of files in conversion, private to this process. */
  folder: string;
  money: Pick<Money, 'owner' | 'settleJob'> & {
    holds: Pick<OpenedHolds['holds'], 'settle' | 'isHeld' | 'putBack' | 'release'>;
  };
  estimate: Estimate;
  clipSettingsOf(model: string): ClipSettings;
  /** Media models of the catalog that are switched off. */
  disabledModels(): readonly string[];
  /** Jobs of one key that may be rendered at a time. */
  activePerKey: number;
  leaseMs: number;
  /** Longest time that a creation whose row is in doubt holds money. */
  undoMs: number;
  runTimes: RunTimes;
  metrics: Pick<
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
  log: Logger;
}
