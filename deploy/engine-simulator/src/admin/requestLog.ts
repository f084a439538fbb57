import type { FinishReason } from '../engine/sequence.ts';

/** What an engine did for one request: the reference that bills are checked against. Choices are summed. */
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

/** The last 20,000 requests of the process, and how many each engine has seen and ended since it started. */
export class RequestLog {
  readonly #entries: ServedRequest[] = [];
  readonly #totals = new Map<number, Record<Outcome | 'seen', number>>();
  #next = 0;

  /** Takes in a request that begins; its counts change while it runs. */
  open(entry: ServedRequest): void {
    this.#entries[this.#next] = entry;
    this.#next = (this.#next + 1) % CAPACITY;
    this.#totalsOf(entry.port).seen += 1;
  }

  /** Notes how a request ended; nothing in its entry changes any more. */
  close(entry: ServedRequest, end: { state: Outcome; finishReason: FinishReason | null; endedAt: number }): void {
    Object.assign(entry, end);
    this.#totalsOf(entry.port)[end.state] += 1;
  }

  /** Oldest first. */
  list(): ServedRequest[] {
    return [...this.#entries.slice(this.#next), ...this.#entries.slice(0, this.#next)];
  }

  /** Requests of the engine on `port`; `running` includes those that wait. */
  totalsOf(port: number): Record<ServedRequest['state'] | 'seen', number> {
    const { seen, finished, aborted, failed } = this.#totalsOf(port);
    return { seen, running: seen - finished - aborted - failed, finished, aborted, failed };
  }

  #totalsOf(port: number): Record<Outcome | 'seen', number> {
    const totals = this.#totals.get(port) ?? { seen: 0, finished: 0, aborted: 0, failed: 0 };
    this.#totals.set(port, totals);
    return totals;
  }
}
