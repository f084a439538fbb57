/** Turns of the event loop that a deadline takes at least. Answers to two questions, one after the other, take some ten. */
const PARTS = 20;

export interface Deadline {
  /** Ends the deadline before it passes. */
  stop(): void;
  /** Begins its time anew. The deadline must not have passed or been stopped. */
  restart(): void;
}

/**
 * Calls `onPassed` after `afterMs`, unless the deadline is stopped. Time for which this process is held up counts for little. The deadline
 * passes in parts, each a turn of the event loop, so that an answer that came meanwhile is read before. A plain timer would fire first.
 */
export function startDeadline(afterMs: number, onPassed: () => void): Deadline {
  let left = PARTS;
  const timer = setTimeout(
    () => {
      left -= 1;
      if (left === 0) onPassed();
      else timer.refresh();
    },
    Math.ceil(afterMs / PARTS),
  );
  return {
    stop: () => clearTimeout(timer),
    restart() {
      left = PARTS;
      timer.refresh();
    },
  };
}
