import type { Clock } from '../engine/clock.ts';

const COMMENT = ': keep-alive\n\n';

export interface KeepAliveOptions {
  /** Silence after which a comment is sent; undefined is never. */
  everyMs: number | undefined;
  clock: Clock;
  send: (comment: string) => void;
}

/** Sends a comment whenever a stream has been silent for a while. */
export function keepAlive({ everyMs, clock, send }: KeepAliveOptions): { noteWrite(): void; stop(): void } {
  if (everyMs === undefined) return { noteWrite: () => {}, stop: () => {} };
  let writtenMs = clock.nowMs();
  let cancel = clock.wakeAfter(everyMs, check);

  function check(): void {
    const silentMs = clock.nowMs() - writtenMs;
    if (silentMs >= (everyMs ?? 0)) {
      writtenMs = clock.nowMs();
      send(COMMENT);
    }
    cancel = clock.wakeAfter((everyMs ?? 0) - (clock.nowMs() - writtenMs), check);
  }

  return {
    noteWrite: () => {
      writtenMs = clock.nowMs();
    },
    stop: () => cancel(),
  };
}
