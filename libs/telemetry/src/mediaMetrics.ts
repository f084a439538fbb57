import type { Attributes, Meter, ObservableResult } from '@opentelemetry/api';

/** A job that has ended, as its row has it. */
export interface EndedJob {
  /** Canonical id. */
  model: string;
  operation: string;
  state: string;
  /** Why it failed, one of a few codes. */
  errorCode: string | null;
  createdAt: Date;
  /** When it had its first turn. */
  begunAt: Date | null;
  endedAt: Date | null;
}

/** Jobs of the region as they stand. */
export interface JobsNow {
  /** Jobs by model and state. `unsettled` are ended jobs whose charge is not counted yet. */
  jobs: readonly { model: string; state: string; jobs: number; oldestSeconds: number }[];
  /** Jobs that have a slot of a replica. */
  slots: readonly { backend: string; used: number }[];
  /** Jobs of which something should have been done long ago, by what that is. */
  overdue: readonly { lacks: string; jobs: number }[];
}

/** A replica of a media engine, as this process sees it. */
export interface BackendNow {
  readonly replica: { readonly id: string; readonly model: string; readonly slots: number; readonly draining: boolean };
  readonly state: 'ready' | 'starting' | 'out';
  /** Whether it gives nothing for its work, although it answers its checks. */
  readonly isHung: boolean;
}

/** Decoding and conversion in this process. */
export interface DecoderNow {
  slots: number;
  running: number;
  /** Waiting uploads of clients and outputs of backends. */
  waiting: number;
  /** Speech that is converted as it comes. */
  converting: number;
  /** Turned away since the process began. */
  refusals: number;
}

/** Kind of an object: a client's input, or an output. */
export type StoredKind = 'input' | 'output';

export interface MediaMetrics {
  /** A job has ended, and its charge is counted. */
  jobEnded(job: EndedJob): void;
  /** An attempt on a replica ended, of a job or of a synchronous call. The result is `made` or one of a few codes. */
  attemptEnded(replica: { readonly id: string }, result: string): void;
  bytesStored(of: StoredKind, bytes: number): void;
  bytesRemoved(of: StoredKind, bytes: number): void;
  /** The object store did not do what was asked of it. */
  storeFailed(): void;
  /** A replica had a job that no row names, and it was removed there. */
  orphanRemoved(replica: { readonly id: string }): void;
  /** An object that belonged to no job was removed. */
  strayRemoved(): void;
  /** The jobs of the region, asked for at every scrape; undefined while the database does not say. */
  observeJobs(read: () => JobsNow | undefined): void;
  observeBackends(read: () => readonly BackendNow[]): void;
  /** Calls of this process that replicas answer as they run, by the replica's id. */
  observeCalls(read: () => Iterable<readonly [backend: string, calls: number]>): void;
  observeDecoder(read: () => DecoderNow): void;
  /** Uploads on this process' disk that calls in progress still need. */
  observeUploads(read: () => { files: number; bytes: number }, limitBytes: number): void;
}

const STATE_VALUES = { ready: 0, starting: 1, out: 2, hung: 3 };

const WAIT_SECONDS = [0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 900, 1_800, 3_600, 7_200];
const JOB_SECONDS = [0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1_200, 1_800, 3_600, 7_200];

/** The instruments of media jobs, all of them. Made once, at start. */
export function createMediaMetrics(meter: Meter): MediaMetrics {
  const histogram = (name: string, description: string, explicitBucketBoundaries: number[]) =>
    meter.createHistogram(name, { description, advice: { explicitBucketBoundaries } });
  const counter = (name: string, description: string) => meter.createCounter(name, { description });
  const gauge = (name: string, description: string, read: () => Iterable<Sample> | undefined): void => {
    const tell = repeatNothing();
    meter.createObservableGauge(name, { description }).addCallback((result) => tell(result, read()));
  };

  const ended = counter(
    'turnpike_jobs_ended_total',
    'Media jobs that ended, by how: completed, cancelled, or why they failed.',
  );
  const waits = histogram(
    'turnpike_job_wait_seconds',
    'From the making of a media job to its first turn, of those that had one.',
    WAIT_SECONDS,
  );
  const durations = histogram(
    'turnpike_job_duration_seconds',
    'From the making of a media job to its end, of those that completed.',
    JOB_SECONDS,
  );
  const attempts = counter(
    'turnpike_backend_attempts_total',
    'Attempts of jobs and calls on a media backend, by what came of them: made, cancelled, or a fault.',
  );
  const stored = counter('turnpike_object_stored_bytes_total', 'Bytes put into the object store for media jobs.');
  const removed = counter(
    'turnpike_object_removed_bytes_total',
    'Bytes of media jobs that were removed from the object store.',
  );
  const storeFailures = counter(
    'turnpike_object_store_failures_total',
    'Times that the object store did not answer, take a file or remove one.',
  );
  const orphans = counter('turnpike_orphans_removed_total', 'Jobs of media backends that no row names, removed there.');
  const strays = counter(
    'turnpike_strays_removed_total',
    'Objects of the object store that belong to no media job, removed.',
  );

  // A counter that is not there before its first count shows no growth.
  storeFailures.add(0);
  strays.add(0);

  return {
    jobEnded({ model, operation, state, errorCode, createdAt, begunAt, endedAt }) {
      ended.add(1, { model, operation, ending: errorCode ?? state });
      if (begunAt) waits.record(secondsBetween(createdAt, begunAt), { model, operation });
      if (endedAt && state === 'completed') durations.record(secondsBetween(createdAt, endedAt), { model, operation });
    },
    attemptEnded: ({ id }, result) => attempts.add(1, { backend: id, result }),
    bytesStored: (of, bytes) => stored.add(bytes, { of }),
    bytesRemoved: (of, bytes) => removed.add(bytes, { of }),
    storeFailed: () => storeFailures.add(1),
    orphanRemoved: ({ id }) => orphans.add(1, { backend: id }),
    strayRemoved: () => strays.add(1),
    observeJobs(read) {
      gauge('turnpike_jobs', 'Media jobs of the region by state; unsettled: ended, and not charged yet.', () =>
        read()?.jobs.map(({ model, state, jobs }) => ({ labels: { model, state }, value: jobs })),
      );
      gauge('turnpike_job_oldest_seconds', 'Age of the oldest media job of the region in a state.', () =>
        read()?.jobs.map(({ model, state, oldestSeconds }) => ({ labels: { model, state }, value: oldestSeconds })),
      );
      gauge('turnpike_backend_slots_used', 'Slots of a media backend that jobs of the region have.', () =>
        read()?.slots.map(({ backend, used }) => ({ labels: { backend }, value: used })),
      );
      gauge(
        'turnpike_jobs_overdue',
        'Media jobs of the region of which something should have been done long ago: 1000 are that or more.',
        () => read()?.overdue.map(({ lacks, jobs }) => ({ labels: { lacks }, value: jobs })),
      );
    },
    observeBackends(read) {
      gauge(
        'turnpike_backend_state',
        'Whether a media backend takes work: 0 it does, 1 it has not answered yet, 2 it is out, 3 it hangs.',
        () =>
          read().map(({ replica: { id, model }, state, isHung }) => ({
            labels: { backend: id, model },
            value: STATE_VALUES[state === 'ready' && isHung ? 'hung' : state],
          })),
      );
      gauge(
        'turnpike_backend_slots',
        'Jobs that a media backend may be given at once; 0 while it is out or drains.',
        () =>
          read().map(({ replica: { id, model, slots, draining }, state }) => ({
            labels: { backend: id, model },
            value: state === 'ready' && !draining ? slots : 0,
          })),
      );
    },
    observeCalls(read) {
      gauge('turnpike_backend_calls', 'Calls of this process that a media backend answers as they run.', () =>
        Array.from(read(), ([backend, calls]) => ({ labels: { backend }, value: calls })),
      );
    },
    observeDecoder(read) {
      gauge('turnpike_decoder_slots', 'Files that this process decodes at once.', () => [
        { labels: {}, value: read().slots },
      ]);
      gauge(
        'turnpike_decodings',
        'Files that are decoded, wait for that, or are speech that is converted as it comes.',
        () => {
          const { running, waiting, converting } = read();
          return Object.entries({ running, waiting, converting }).map(([state, value]) => ({
            labels: { state },
            value,
          }));
        },
      );
      meter
        .createObservableCounter('turnpike_decoder_refusals_total', {
          description: 'Uploads and speech turned away because too much is decoded and converted.',
        })
        .addCallback((result) => result.observe(read().refusals));
    },
    observeUploads(read, limitBytes) {
      gauge('turnpike_uploads', 'Uploads on this process’ disk.', () => [{ labels: {}, value: read().files }]);
      gauge('turnpike_upload_bytes', 'Bytes of the uploads on this process’ disk.', () => [
        { labels: {}, value: read().bytes },
      ]);
      gauge('turnpike_upload_limit_bytes', 'Bytes that uploads may take of this process’ disk.', () => [
        { labels: {}, value: limitBytes },
      ]);
    },
  };
}

interface Sample {
  labels: Attributes;
  value: number;
}

const secondsBetween = (from: Date, to: Date): number => Math.max(to.getTime() - from.getTime(), 0) / 1_000;

/** Tells what there is, of what is there no more 0, and of all NaN while nobody knows: nothing would look like nothing to do. */
function repeatNothing(): (result: ObservableResult, samples: Iterable<Sample> | undefined) => void {
  const told = new Map<string, Attributes>();
  return (result, samples) => {
    const rest = new Map(told);
    for (const { labels, value } of samples ?? []) {
      const name = JSON.stringify(labels);
      rest.delete(name);
      told.set(name, labels);
      result.observe(value, labels);
    }
    for (const labels of rest.values()) result.observe(samples ? 0 : Number.NaN, labels);
  };
}
