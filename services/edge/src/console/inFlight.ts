import type { ServerResponse } from 'node:http';

/** Most requests in flight. */
export interface InFlightBounds {
  ofBlock: number;
  inAll: number;
}

/** Requests in flight of a listener, bounded for each block of addresses and in all. */
export class InFlight {
  readonly #bounds: InFlightBounds;
  readonly #byBlock = new Map<string, number>();
  #inAll = 0;

  constructor(bounds: InFlightBounds) {
    this.#bounds = bounds;
  }

  /** Takes a place for a request until its response closes. Returns the bound that leaves no place, if any. */
  enter(block: string, res: ServerResponse): 'block' | 'all' | undefined {
    const ofBlock = this.#byBlock.get(block) ?? 0;
    if (ofBlock >= this.#bounds.ofBlock) return 'block';
    if (this.#inAll >= this.#bounds.inAll) return 'all';
    this.#byBlock.set(block, ofBlock + 1);
    this.#inAll += 1;
    res.once('close', () => this.#leave(block));
    return undefined;
  }

  #leave(block: string): void {
    const left = (this.#byBlock.get(block) ?? 0) - 1;
    if (left > 0) this.#byBlock.set(block, left);
    else this.#byBlock.delete(block);
    this.#inAll -= 1;
  }
}
