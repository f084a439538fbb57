import type { EventLogProducer, EventRecord } from '@turnpike/event-log/eventLog';

/** An event log in memory that a test can take down and look into. */
export interface AnEventLog extends EventLogProducer {
  taken: EventRecord[];
  isDown: boolean;
  /** Appends that came while it was down. */
  refusals: number;
  /** Events of the first refused append. */
  firstRefused: readonly EventRecord[];
}

export function anEventLog(): AnEventLog {
  return {
    taken: [],
    isDown: false,
    refusals: 0,
    firstRefused: [],
    async append(_topic, records) {
      if (this.isDown) {
        if (this.refusals === 0) this.firstRefused = [...records];
        this.refusals += 1;
        throw new Error('event log is down');
      }
      this.taken.push(...records);
    },
    async close() {},
  };
}
