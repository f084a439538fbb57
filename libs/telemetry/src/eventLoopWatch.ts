/** Finer turns took 1 % of a core of a process that does nothing. */
const TURN_MS = 50;
const MICROSECONDS = 1e6;
const MILLISECONDS = 1e3;

/** How far the event loop fell behind, in seconds, since it was asked last. */
export interface EventLoopDelays {
  /** Longest delay of a due timer: the process computed, or the machine gave it no time. */
  late: number;
  /** Longest that the thread itself computed between two turns: only the process' own work makes this long. */
  blocked: number;
}

/** Watches the event loop of this process, until it is stopped. Keeps no process alive. */
export interface EventLoopWatch {
  /** The longest since the call before. */
  take(): EventLoopDelays;
  stop(): void;
}

export function watchEventLoop(): EventLoopWatch {
  let longest: EventLoopDelays = { late: 0, blocked: 0 };
  let lastAt = performance.now();
  let lastBusy = readThreadSeconds();
  const timer = setInterval(() => {
    const now = performance.now();
    const busy = readThreadSeconds();
    longest = {
      late: Math.max(longest.late, (now - lastAt - TURN_MS) / MILLISECONDS),
      blocked: Math.max(longest.blocked, busy - lastBusy),
    };
    lastAt = now;
    lastBusy = busy;
  }, TURN_MS).unref();
  return {
    take() {
      const taken = longest;
      longest = { late: 0, blocked: 0 };
      return taken;
    },
    stop: () => clearInterval(timer),
  };
}

function readThreadSeconds(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / MICROSECONDS;
}
