import { request } from 'undici';
import { z } from 'zod';

const TIMEOUT_MS = 10_000;

/** An engine's own record of one request that it served, exact to the token. */
export interface ServedRequest {
  /** The call id; further attempts have `-2` and so on behind it. */
  requestId: string;
  model: string;
  isStream: boolean;
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
  state: 'running' | 'finished' | 'aborted' | 'failed';
  receivedAt: number;
}

const requestsSchema = z.object({
  requests: z.array(
    z.object({
      requestId: z.string(),
      model: z.string(),
      isStream: z.boolean(),
      promptTokens: z.number(),
      cachedTokens: z.number(),
      completionTokens: z.number(),
      state: z.enum(['running', 'finished', 'aborted', 'failed']),
      receivedAt: z.number(),
    }),
  ),
});

/** One engine simulator, by its admin listener. */
export class Simulator {
  readonly #adminUrl: string;
  /** Requests that killed processes of it had served. */
  readonly #kept: ServedRequest[] = [];
  #isRetired = false;

  constructor(adminUrl: string) {
    this.#adminUrl = adminUrl;
  }

  /** Every call served since an instant, by this process and by those before it. Routers' probes of engines are no calls. */
  async listServed(sinceMs: number): Promise<ServedRequest[]> {
    const { requests } = this.#isRetired ? { requests: [] } : requestsSchema.parse(await this.#ask('GET', 'requests'));
    const isCall = ({ requestId }: ServedRequest) => !requestId.startsWith('probe-');
    return [...this.#kept, ...requests].filter((served) => isCall(served) && served.receivedAt >= sinceMs);
  }

  /** Whether its process has gone for good. */
  get isRetired(): boolean {
    return this.#isRetired;
  }

  /** Keeps the log of an engine that is about to go for good. */
  async retire(): Promise<void> {
    this.#kept.push(...(await this.listServed(0)));
    this.#isRetired = true;
  }

  /** Holds all generation and keeps the log, which a process that is killed then takes with it. */
  async prepareKill(): Promise<void> {
    await this.pause();
    this.#kept.push(...(await this.listServed(0)));
  }

  async pause(): Promise<void> {
    await this.#ask('POST', 'pause');
  }

  async resume(): Promise<void> {
    await this.#ask('POST', 'resume');
  }

  async configure(knobs: object): Promise<void> {
    await this.#ask('POST', 'config', knobs);
  }

  async become(state: 'serving' | 'draining' | 'dead' | 'refusing' | 'cutting'): Promise<void> {
    await this.#ask('POST', 'state', { state });
  }

  async addFaults(rules: object[]): Promise<void> {
    await this.#ask('POST', 'faults', rules);
  }

  /** Restores the state of the start. */
  async mend(): Promise<void> {
    await this.#ask('DELETE', 'faults');
    await this.become('serving');
    await this.configure(QUICK);
    await this.resume();
  }

  async #ask(method: 'GET' | 'POST' | 'DELETE', what: string, content?: object): Promise<unknown> {
    const { statusCode, body } = await request(`${this.#adminUrl}/admin/${what}`, {
      method,
      ...(content && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(content) }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`the simulator answered ${statusCode} to ${method} ${what}: ${text}`);
    return JSON.parse(text);
  }
}

/** Quick enough that two cores are the limit, slow enough that streams overlap. */
const QUICK = { timeToFirstTokenMs: 5, interTokenMs: 2 };
