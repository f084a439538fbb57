import type { DeadLetterEntry } from '../dead-letters/findDeadLetters.ts';

/** A dead letter for the operator, without its bytes. */
export function toDeadLetterBody({ id, topic, partition, offset, reason, bytes, ...at }: DeadLetterEntry) {
  return {
    id: String(id),
    topic,
    partition,
    offset: String(offset),
    reason,
    bytes,
    recorded_at: at.recordedAt.toISOString(),
    replayed_at: at.replayedAt?.toISOString() ?? null,
  };
}
