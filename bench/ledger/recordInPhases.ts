import type { StoredRecord } from '@turnpike/event-log/eventLog';
import { usageRecorded } from '@turnpike/events/usageRecorded';
import { noTelemetry } from '@turnpike/telemetry/noTelemetry';
import { createRecordingTelemetry } from '../../services/usage-ledger/src/consumers/recordingTelemetry.ts';
import { recordUsageBatch } from '../../services/usage-ledger/src/consumers/recordUsageBatch.ts';
import { callInstantMs, readUsageEvent } from '../../services/usage-ledger/src/ledger/readUsageEvent.ts';
import { ensureUsagePartitions } from '../../services/usage-ledger/src/ledger/recordUsage.ts';
import { silentLog, type TestLedger } from '../../services/usage-ledger/test/openTestLedger.ts';

/** Seconds of recording, by phase. */
export interface Phases {
  reading: number;
  partitions: number;
  transaction: number;
}

const REGION = 'us';
const recordingTelemetry = createRecordingTelemetry(noTelemetry);

/** Records batch after batch of one partition, as the consumer does. */
export function createRecorder(db: TestLedger['db']) {
  let fromOffset = 0n;
  let transaction = 0;
  const recorded: StoredRecord[][] = [];
  const telemetry = {
    batchRecorded(batch: Parameters<typeof recordingTelemetry.batchRecorded>[0]): void {
      transaction += (Date.now() - batch.startedAtMs) / 1_000;
      recordingTelemetry.batchRecorded(batch);
    },
  };
  return {
    async record(records: StoredRecord[]): Promise<void> {
      const nextOffset = fromOffset + BigInt(records.length);
      const context = {
        topic: usageRecorded.topic,
        region: REGION,
        now: new Date(),
        log: silentLog,
        telemetry,
        mostRecords: new Map(),
      } as const;
      await recordUsageBatch(db, { partition: 0, fromOffset, records, nextOffset, isAtEnd: true }, context);
      fromOffset = nextOffset;
      recorded.push(records);
    },
    /** Returns the phases of all that was recorded since the last call. The first two are measured again, apart from the rest. */
    async takePhases(): Promise<Phases> {
      const batches = recorded.splice(0);
      const startedAt = performance.now();
      const instants = batches.map((records) =>
        records.map(
          ({ value }) => new Date(callInstantMs(readUsageEvent(value, { region: REGION, now: new Date() }).callId)),
        ),
      );
      const readAt = performance.now();
      for (const batch of instants) await ensureUsagePartitions(db, batch);
      const phases = {
        reading: (readAt - startedAt) / 1_000,
        partitions: (performance.now() - readAt) / 1_000,
        transaction,
      };
      transaction = 0;
      return phases;
    },
  };
}
