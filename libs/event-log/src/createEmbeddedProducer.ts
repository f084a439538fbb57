import { Agent, request } from 'undici';
import type { EventLogProducer } from './eventLog.ts';

export interface EmbeddedProducerOptions {
  /** Base address of the internal listener of the service that keeps the log. */
  url: string;
  /** The name of the service that keeps the log, for the internal token. */
  service: string;
  internalHeaders: (audience: string) => Record<string, string>;
  /** Longest wait for a batch to be committed. */
  timeoutMs?: number;
}

/** Appends to the embedded event log over HTTP. A batch is stored when the answer is 200. */
export function createEmbeddedProducer({
  url,
  service,
  internalHeaders,
  timeoutMs = 10_000,
}: EmbeddedProducerOptions): EventLogProducer {
  const dispatcher = new Agent({ connections: 4 });
  return {
    async append(topic, records) {
      const { statusCode, body } = await request(`${url}/internal/event-log/${encodeURIComponent(topic)}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...internalHeaders(service) },
        body: JSON.stringify({ records }),
        signal: AbortSignal.timeout(timeoutMs),
        dispatcher,
      });
      await body.dump();
      if (statusCode !== 200) throw new Error(`the event log answered ${statusCode}`);
    },
    close: () => dispatcher.close(),
  };
}
