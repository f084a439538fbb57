import type { UsageRecorded } from '@turnpike/events/usageRecorded';
import { createAskedGauge } from '@turnpike/telemetry/askedGauge';
import type { Telemetry } from '@turnpike/telemetry/startTelemetry';
import type { Partition } from '../database/statements.ts';

/** The counts of one committed transaction. */
export interface RecordedBatch extends Partition {
  /** One for each call of the batch that could be read. */
  events: UsageRecorded[];
  /** Rows that are new, or became known. */
  rows: number;
  deadLetters: number;
  /** Whether the log lost records before this batch. */
  isAfterGap: boolean;
  startedAtMs: number;
}

export interface RecordingTelemetry {
  /** A batch is committed: counts it, and shows it in the traces of its calls. */
  batchRecorded(batch: RecordedBatch): void;
  /** Called at every scrape. The gauge is NaN while the event log does not answer. */
  observeLag(lag: () => Promise<bigint>): void;
  /** Called at every scrape. */
  observePartitions(count: () => number): void;
  /** Called at every scrape; NaN while the database does not answer. */
  observeDeadLetters(count: () => Promise<number>): void;
}

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** The instruments of recording. Made once, at start. */
export function createRecordingTelemetry({ meter, tracer }: Pick<Telemetry, 'meter' | 'tracer'>): RecordingTelemetry {
  const rows = meter.createCounter('turnpike_usage_rows_total', {
    description: 'Usage rows that are new, or turned from unknown to known.',
  });
  const deadLetters = meter.createCounter('turnpike_dead_letters_total', {
    description: 'Records of the event log that could not be read, and were kept aside.',
  });
  const gaps = meter.createCounter('turnpike_event_log_gaps_total', {
    description: 'Times that the event log had lost records before they were read, or was made anew.',
  });
  const durations = meter.createHistogram('turnpike_record_batch_seconds', {
    description: 'One transaction of the ledger, from its begin to its commit.',
    advice: { explicitBucketBoundaries: SECONDS },
  });
  return {
    batchRecorded(batch) {
      rows.add(batch.rows);
      deadLetters.add(batch.deadLetters);
      gaps.add(Number(batch.isAfterGap));
      durations.record((Date.now() - batch.startedAtMs) / 1_000);
      tracer.recordBatch('record usage', {
        traceparents: batch.events.map(({ traceparent }) => traceparent),
        startedAtMs: batch.startedAtMs,
        attributes: {
          'turnpike.topic': batch.topic,
          'turnpike.partition': batch.partition,
          'turnpike.rows': batch.rows,
          'turnpike.dead_letters': batch.deadLetters,
        },
      });
    },
    observeLag(lag) {
      createAskedGauge(meter, {
        name: 'turnpike_event_lag_records',
        description: 'Records of the event log that are not in the ledger yet.',
        ask: () => lag().then(Number),
      });
    },
    observePartitions(count) {
      meter
        .createObservableGauge('turnpike_event_partitions', {
          description: 'Partitions of the event log that are in the share of this ledger. The embedded log has one.',
        })
        .addCallback((result) => result.observe(count()));
    },
    observeDeadLetters(ask) {
      createAskedGauge(meter, {
        name: 'turnpike_ledger_dead_letters',
        description: 'Records that could not be read and wait to be replayed.',
        ask,
      });
    },
  };
}
