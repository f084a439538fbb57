import { Agent, type AgentOptions, type ClientRequestArgs } from 'node:http';
import type { NetConnectOpts } from 'node:net';
import type { Duplex } from 'node:stream';
import { NotSentError, reachUpstream } from './reachUpstream.ts';

export interface UpstreamAgentOptions extends AgentOptions {
  /** Longest wait for a connection. */
  connectTimeoutMs: number;
  /** Most requests that wait for a connection at once. Those above have theirs refused. */
  maxConnecting: number;
}

/** Keeps the connections to one upstream. A request gets one that stands, so whatever fails before that was never sent. */
export class UpstreamAgent extends Agent {
  readonly #connectTimeoutMs: number;
  readonly #maxConnecting: number;
  #connecting = 0;

  constructor({ connectTimeoutMs, maxConnecting, ...options }: UpstreamAgentOptions) {
    super(options);
    this.#connectTimeoutMs = connectTimeoutMs;
    this.#maxConnecting = maxConnecting;
  }

  // Declared, as Node calls it with options that its types do not join.
  override createConnection(
    options: ClientRequestArgs,
    callback: (error: Error | null, stream: Duplex) => void = () => undefined,
  ): undefined {
    const give = callback as (error: Error | null, stream?: Duplex) => void;
    this.#reach(options as NetConnectOpts).then(
      (socket) => give(null, socket),
      (error: Error) => give(error),
    );
  }

  async #reach(options: NetConnectOpts): Promise<Duplex> {
    if (this.#connecting >= this.#maxConnecting)
      throw new NotSentError(`${this.#maxConnecting} requests wait for a connection`);
    this.#connecting += 1;
    try {
      return await reachUpstream(options, { timeoutMs: this.#connectTimeoutMs });
    } finally {
      this.#connecting -= 1;
    }
  }
}
