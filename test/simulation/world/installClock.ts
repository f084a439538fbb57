import { currentWorld } from './currentWorld.ts';
import type { QueuedEvent } from './eventQueue.ts';

const RealDate = Date;

class SimulatedDate extends RealDate {
  constructor(...parts: unknown[]) {
    if (parts.length === 0) super(SimulatedDate.now());
    else super(...(parts as [number]));
  }
  static override now(): number {
    return Math.floor(currentWorld().wallClockMs());
  }
}

/** Looks like Node's own timers. */
interface SimulatedTimer {
  event: QueuedEvent | undefined;
  ref(): SimulatedTimer;
  unref(): SimulatedTimer;
  refresh(): SimulatedTimer;
}

/** A timer that `schedule` starts, also anew. */
function startTimer(schedule: (timer: SimulatedTimer) => QueuedEvent): SimulatedTimer {
  const timer: SimulatedTimer = {
    event: undefined,
    ref: () => timer,
    unref: () => timer,
    refresh() {
      clearSimulated(timer);
      timer.event = schedule(timer);
      return timer;
    },
  };
  return timer.refresh();
}

function setSimulatedTimeout(run: (...args: unknown[]) => void, delayMs = 0, ...args: unknown[]): SimulatedTimer {
  return startTimer(() => currentWorld().scheduleTimer(Math.max(delayMs, 1), () => run(...args)));
}

function setSimulatedInterval(run: () => void, delayMs: number): SimulatedTimer {
  const world = currentWorld();
  const schedule = (timer: SimulatedTimer): QueuedEvent =>
    world.scheduleTimer(Math.max(delayMs, 1), () => {
      timer.event = schedule(timer);
      run();
    });
  return startTimer(schedule);
}

function clearSimulated(timer: SimulatedTimer | undefined): void {
  if (timer?.event) timer.event.isCancelled = true;
}

/** One for all: where it was made tells nothing, and making one is slow. */
const TIMED_OUT = new DOMException('timed out', 'TimeoutError');

function signalAfter(timeoutMs: number): AbortSignal {
  const abort = new AbortController();
  currentWorld().scheduleTimer(timeoutMs, () => abort.abort(TIMED_OUT));
  return abort.signal;
}

/** Puts the simulated clock, timers and chance in the place of this whole process' own, for good. */
export function installClock(): void {
  Object.assign(globalThis, {
    Date: SimulatedDate,
    setTimeout: setSimulatedTimeout,
    setInterval: setSimulatedInterval,
    clearTimeout: clearSimulated,
    clearInterval: clearSimulated,
  });
  Object.defineProperty(performance, 'now', { value: () => currentWorld().clockMs() + 1_000_000 });
  Object.defineProperty(AbortSignal, 'timeout', { value: signalAfter });
  Math.random = () => currentWorld().random.share();
}
