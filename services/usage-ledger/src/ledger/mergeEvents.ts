import type { UsageRecorded } from '@turnpike/events/usageRecorded';

/** One event per call, as if they had been recorded one by one: the first known outcome, else the first `unknown`. */
export function mergeEvents(events: UsageRecorded[]): UsageRecorded[] {
  const merged = new Map<string, UsageRecorded>();
  for (const event of events) {
    const earlier = merged.get(event.callId);
    if (!earlier || (earlier.status === 'unknown' && event.status !== 'unknown')) merged.set(event.callId, event);
  }
  return [...merged.values()];
}
