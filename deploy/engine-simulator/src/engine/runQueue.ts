import type { KvCache } from './kvCache.ts';
import type { Sequence } from './sequence.ts';

/**
 * The running and the waiting sequences. Sequences wait in order of arrival, preempted ones first. The first one runs when there
 * are a place and cache blocks for it. All behind it wait until then.
 */
export class RunQueue {
  readonly running = new Set<Sequence>();
  readonly #waiting = new Set<Sequence>();
  readonly #preempted: Sequence[] = [];

  get waitingCount(): number {
    return this.#waiting.size + this.#preempted.length;
  }

  /** Everyone, running or not. */
  all(): Sequence[] {
    return [...this.running, ...this.#preempted, ...this.#waiting];
  }

  add(sequence: Sequence): void {
    this.#waiting.add(sequence);
  }

  /** Takes a sequence out, wherever it is. */
  remove(sequence: Sequence): void {
    this.running.delete(sequence);
    this.#waiting.delete(sequence);
    const preempted = this.#preempted.indexOf(sequence);
    if (preempted >= 0) this.#preempted.splice(preempted, 1);
  }

  /** The next in line, if it could run now. */
  findAdmissible(maxNumSeqs: number, kvCache: KvCache): Sequence | undefined {
    const next = this.#preempted[0] ?? this.#waiting.values().next().value;
    return next && this.running.size < maxNumSeqs && kvCache.hasRoomFor(next) ? next : undefined;
  }

  /** Lets a sequence that waits run. */
  admit(sequence: Sequence): void {
    this.remove(sequence);
    this.running.add(sequence);
  }

  /** Sends the youngest that runs back to the front of the line. */
  preemptYoungest(): Sequence | undefined {
    const youngest = [...this.running].at(-1);
    if (!youngest) return undefined;
    this.running.delete(youngest);
    this.#preempted.unshift(youngest);
    return youngest;
  }
}
