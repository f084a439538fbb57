import { MediaFault } from './mediaFault.ts';

/** So much at a time; the rest waits in the order in which it came. */
export interface WorkPool {
  /**
   * Runs `work` when it is its turn. What is not patient is refused as `overloaded` where too much of its kind waits already, or where its
   * turn has not come after `maxWaitMs`; what is patient waits as long as it takes. Rejects with the signal's reason where that fires
   * before its turn.
   */
  run<Result>(work: () => Promise<Result>, options: { isPatient: boolean; signal: AbortSignal }): Promise<Result>;
  /** At this moment. */
  readonly load: { running: number; waiting: number };
}

export interface WorkPoolOptions {
  slots: number;
  /** Of what is not patient. */
  maxWaiting: number;
  maxWaitMs: number;
}

export function createWorkPool({ slots, maxWaiting, maxWaitMs }: WorkPoolOptions): WorkPool {
  const line: { begin: () => void; isPatient: boolean }[] = [];
  let running = 0;

  function waitForTurn(isPatient: boolean, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (running < slots) {
      running += 1;
      return Promise.resolve();
    }
    if (!isPatient && line.filter((one) => !one.isPatient).length >= maxWaiting) throw new MediaFault('overloaded');
    return new Promise((resolve, reject) => {
      const one = { isPatient, begin };
      const timer = isPatient ? undefined : setTimeout(() => leave(new MediaFault('overloaded')), maxWaitMs);
      const abort = () => leave(signal.reason);
      function begin(): void {
        clearTimeout(timer);
        signal.removeEventListener('abort', abort);
        resolve();
      }
      function leave(reason: unknown): void {
        clearTimeout(timer);
        signal.removeEventListener('abort', abort);
        line.splice(line.indexOf(one), 1);
        reject(reason);
      }
      line.push(one);
      signal.addEventListener('abort', abort, { once: true });
    });
  }

  /** The place goes to the next in line, or is free. */
  function end(): void {
    const next = line.shift();
    if (next) next.begin();
    else running -= 1;
  }

  return {
    get load() {
      return { running, waiting: line.length };
    },
    async run(work, { isPatient, signal }) {
      await waitForTurn(isPatient, signal);
      try {
        return await work();
      } finally {
        end();
      }
    },
  };
}
