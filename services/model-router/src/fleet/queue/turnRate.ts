import { MIN_TURN_MS, TURN_SLOT_MS, TURN_WINDOW_MS } from '../terms/limits.ts';

/** How fast turns are given while calls wait for them, by what they cost: what there is to share, as it shows. */
export class TurnRate {
  /** The last 10 s in slots, oldest first. */
  readonly #slots: { atMs: number; cost: number }[] = [];
  readonly #beganAtMs: number;

  /** To be made when calls begin to wait: what was before says nothing of what engines can carry. */
  constructor(nowMs: number) {
    this.#beganAtMs = nowMs;
  }

  count(cost: number, nowMs: number): void {
    const atMs = Math.floor(nowMs / TURN_SLOT_MS) * TURN_SLOT_MS;
    const last = this.#slots.at(-1);
    if (last?.atMs === atMs) last.cost += cost;
    else this.#slots.push({ atMs, cost });
    while ((this.#slots[0]?.atMs ?? nowMs) < nowMs - TURN_WINDOW_MS) this.#slots.shift();
  }

  /**
   * How long the turns of so much cost will take; 0 while that cannot be told. One more turn, of `meanCost`, is taken to come
   * right now, so that few turns do not make it endless.
   */
  msFor(cost: number, { meanCost, nowMs }: { meanCost: number; nowMs: number }): number {
    const sinceMs = Math.max(this.#beganAtMs, nowMs - TURN_WINDOW_MS);
    const recent = this.#slots.filter(({ atMs }) => atMs >= sinceMs - TURN_SLOT_MS);
    const given = recent.reduce((sum, slot) => sum + slot.cost, meanCost);
    const ms = nowMs - sinceMs;
    return ms < MIN_TURN_MS ? 0 : (cost * ms) / given;
  }
}
