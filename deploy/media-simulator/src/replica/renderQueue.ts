import type { Clock } from '@turnpike/engine-simulator/engine/clock';
import type { Knobs } from '../knobs.ts';
import type { RenderEntry, ReplicaLog } from './replicaLog.ts';

export type RenderEnd = Exclude<RenderEntry['state'], 'waiting' | 'running'>;

/** One render to do. */
export interface RenderOrder {
  entry: RenderEntry;
  /** From its start to its end; infinite for one that never ends. */
  renderMs: number;
  /** Hands over the output when its time has passed; a rejection is a failed render. */
  produce: () => Promise<void>;
}

/** One render of a replica, waiting, running or ended. */
export class Render {
  readonly entry: RenderEntry;
  readonly started = Promise.withResolvers<void>();
  readonly ended = Promise.withResolvers<RenderEnd>();
  readonly renderMs: number;
  /** The cause of its failure. */
  error: Error | undefined;
  startedMs: number | undefined;
  cancelTimer: (() => void) | undefined;

  constructor({ entry, renderMs }: RenderOrder) {
    this.entry = entry;
    this.renderMs = renderMs;
  }

  get hasEnded(): boolean {
    return this.entry.endedAt !== null;
  }
}

/** The accelerator of a replica: so many slots, and a line before them in order of arrival. */
export class RenderQueue {
  readonly #clock: Clock;
  readonly #log: ReplicaLog;
  readonly #knobs: () => Knobs;
  #waiting: { render: Render; produce: () => Promise<void> }[] = [];
  readonly #running = new Set<Render>();
  #isPaused = false;

  constructor({ clock, log, knobs }: { clock: Clock; log: ReplicaLog; knobs: () => Knobs }) {
    this.#clock = clock;
    this.#log = log;
    this.#knobs = knobs;
  }

  get waiting(): Render[] {
    return this.#waiting.map(({ render }) => render);
  }

  get running(): Render[] {
    return [...this.#running];
  }

  add(order: RenderOrder): Render {
    const render = new Render(order);
    this.#waiting.push({ render, produce: order.produce });
    this.#startNext();
    return render;
  }

  /** Between 0 and 1, of the time that it takes. */
  progressOf({ startedMs, renderMs, hasEnded }: Render): number {
    if (hasEnded) return 1;
    if (startedMs === undefined) return 0;
    return Math.min((this.#clock.nowMs() - startedMs) / Math.max(renderMs, 1), 1);
  }

  /** Takes a render off the line or stops it. */
  abort(render: Render, state: 'aborted' | 'lost' = 'aborted'): void {
    if (render.hasEnded) return;
    this.#waiting = this.#waiting.filter((other) => other.render !== render);
    this.#end(render, state);
  }

  /** Starts nothing new until `resume`; what runs goes on. */
  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#startNext();
  }

  /** Forgets all that waits and runs, as a process that ends. */
  loseAll(): void {
    for (const render of [...this.waiting, ...this.running]) this.abort(render, 'lost');
  }

  #startNext(): void {
    while (!this.#isPaused && this.#running.size < this.#knobs().slots) {
      const next = this.#waiting.shift();
      if (!next) return;
      void this.#run(next.render, next.produce);
    }
  }

  async #run(render: Render, produce: () => Promise<void>): Promise<void> {
    this.#running.add(render);
    render.startedMs = this.#clock.nowMs();
    this.#log.startRender(render.entry);
    render.started.resolve();
    await new Promise<void>((resolve) => {
      if (Number.isFinite(render.renderMs)) render.cancelTimer = this.#clock.wakeAfter(render.renderMs, resolve);
    });
    try {
      await produce();
      this.#end(render, 'finished');
    } catch (error) {
      render.error = error instanceof Error ? error : new Error(String(error));
      this.#end(render, 'failed');
    }
  }

  #end(render: Render, state: RenderEnd): void {
    if (render.hasEnded) return;
    render.cancelTimer?.();
    this.#running.delete(render);
    this.#log.endRender(render.entry, { state });
    render.started.resolve();
    render.ended.resolve(state);
    this.#startNext();
  }
}
