import type { FinishReason } from '../engine/sequence.ts';

/** One request as an engine served it: the reference that bills are checked against. */
export interface ServedRequest {
  /** The `x-request-id` it came with. */
  requestId: string | null;
  /** The `id` of the answer. */
  responseId: string;
  port: number;
  model: string;
  isStream: boolean;
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
  finishReason: FinishReason | null;
  /** `aborted`: the client left. `failed`: an injected fault ended it. */
  state: 'running' | 'finished' | 'aborted' | 'failed';
  /** Unix milliseconds. */
  receivedAt: number;
  endedAt: number | null;
}

export type Outcome = Exclude<ServedRequest['state'], 'running'>;

const CAPACITY = 20_000;

/** The last 20,000 requests of the process. */
export class RequestLog {
  readonly #entries: ServedRequest[] = [];
  #next = 0;

  /** Takes in a request that begins; its entry changes while it runs. */
  open(entry: ServedRequest): void {
    this.#entries[this.#next] = entry;
    this.#next = (this.#next + 1) % CAPACITY;
  }

  /** Oldest first. */
  list(): ServedRequest[] {
    return [...this.#entries.slice(this.#next), ...this.#entries.slice(0, this.#next)];
  }
}
