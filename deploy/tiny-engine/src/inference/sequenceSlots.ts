import type { LlamaContextSequence, Token } from 'node-llama-cpp';

/** Requests that wait for a sequence; the next one is refused. */
const MAX_WAITING = 64;

/** A sequence while one request has it. */
export interface Lease {
  sequence: LlamaContextSequence;
  /** Leading prompt tokens whose keys and values are still there from an earlier request. */
  cachedTokens: number;
  release(): void;
}

export interface LeaseRequest {
  promptTokens: Token[];
  /** Requests share a prefix only under the same salt. */
  cacheSalt: string;
  signal: AbortSignal;
}

interface Slot {
  sequence: LlamaContextSequence;
  isFree: boolean;
  cacheSalt: string;
  /** Order of use: the slot that was let go longest ago is the first to be overwritten. */
  releasedAt: number;
}

/** The engine's sequences, lent to requests in order of arrival. */
export class SequenceSlots {
  readonly #slots: Slot[];
  readonly #waiting = new Set<(slot: Slot) => void>();
  #releases = 0;

  constructor(sequences: readonly LlamaContextSequence[]) {
    this.#slots = sequences.map((sequence) => ({ sequence, isFree: true, cacheSalt: '', releasedAt: 0 }));
  }

  get runningCount(): number {
    return this.#slots.filter(({ isFree }) => !isFree).length;
  }

  get waitingCount(): number {
    return this.#waiting.size;
  }

  /** Share of all cache cells that hold a token, from 0 to 1. */
  get cacheUsage(): number {
    const used = this.#slots.reduce((sum, { sequence }) => sum + sequence.nextTokenIndex, 0);
    return used / this.#slots.reduce((sum, { sequence }) => sum + sequence.contextSize, 0);
  }

  get isFull(): boolean {
    return this.#waiting.size >= MAX_WAITING;
  }

  /** Takes the free sequence that shares the longest prefix, or waits for the next one. Rejects when `signal` aborts the wait. */
  async lease(request: LeaseRequest): Promise<Lease> {
    const slot = this.#takeBest(request) ?? (await this.#wait(request.signal));
    try {
      return { sequence: slot.sequence, ...(await prepare(slot, request)), release: () => this.#release(slot) };
    } catch (error) {
      this.#release(slot);
      throw error;
    }
  }

  #takeBest(request: LeaseRequest): Slot | undefined {
    const [best] = this.#slots
      .filter(({ isFree }) => isFree)
      .map((slot) => ({ slot, cachedTokens: countCached(slot, request) }))
      .sort((a, b) => b.cachedTokens - a.cachedTokens || a.slot.releasedAt - b.slot.releasedAt);
    if (best) best.slot.isFree = false;
    return best?.slot;
  }

  #wait(signal: AbortSignal): Promise<Slot> {
    return new Promise((resolve, reject) => {
      const take = (slot: Slot) => {
        signal.removeEventListener('abort', leave);
        resolve(slot);
      };
      const leave = () => {
        this.#waiting.delete(take);
        reject(signal.reason);
      };
      if (signal.aborted) return leave();
      this.#waiting.add(take);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  #release(slot: Slot): void {
    slot.releasedAt = ++this.#releases;
    const [next] = this.#waiting;
    if (next) {
      this.#waiting.delete(next);
      next(slot);
    } else {
      slot.isFree = true;
    }
  }
}

/** At least the last prompt token is computed anew: the first output token comes from it. */
function countCached({ sequence, cacheSalt }: Slot, request: LeaseRequest): number {
  if (cacheSalt !== request.cacheSalt) return 0;
  return sequence.compareContextTokens(request.promptTokens.slice(0, -1)).firstDifferentIndex;
}

/** Forgets everything behind the common prefix, and says how long that is. */
async function prepare(slot: Slot, request: LeaseRequest): Promise<{ cachedTokens: number }> {
  const { sequence } = slot;
  if (slot.cacheSalt !== request.cacheSalt) await sequence.clearHistory();
  slot.cacheSalt = request.cacheSalt;
  await sequence.adaptStateToTokens(request.promptTokens.slice(0, -1), false);
  return { cachedTokens: sequence.nextTokenIndex };
}
