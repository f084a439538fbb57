/** A turn of a thread that computes. */
const TURN_MS = 50;
/** A turn of a thread that computed for less than this share of the last turn. Shorter ones took 0.35 % of a core of an idle process. */
const IDLE_TURN_MS = 200;
const IDLE_SHARE = 0.1;
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
  let turnMs = TURN_MS;
  let lastAt = performance.now();
  let lastBusy = readThreadSeconds();
  let timer = setTimeout(look, turnMs).unref();

  function look(): void {
    const turnSeconds = (performance.now() - lastAt) / MILLISECONDS;
    const busySeconds = readThreadSeconds() - lastBusy;
    longest = {
      late: Math.max(longest.late, turnSeconds - turnMs / MILLISECONDS),
      blocked: Math.max(longest.blocked, busySeconds),
    };
    turnMs = busySeconds < IDLE_SHARE * turnSeconds ? IDLE_TURN_MS : TURN_MS;
    lastAt += turnSeconds * MILLISECONDS;
    lastBusy += busySeconds;
    timer = setTimeout(look, turnMs).unref();
  }

  return {
    take() {
      const taken = longest;
      longest = { late: 0, blocked: 0 };
      return taken;
    },
    stop: () => clearTimeout(timer),
  };
}

function readThreadSeconds(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / MICROSECONDS;
}
