import { type ClientOptions, CONNECT_TIMEOUT_MS, createClient } from '@turnpike/internal-api/transport/createClient';
import { usageLedgerApi } from '@turnpike/internal-api/usageLedger';
import { Agent } from 'undici';
import type { EventLogProducer } from './eventLog.ts';

/** The service that keeps the log, and the longest wait for the commit of a batch (default: 10 s). */
export type EmbeddedProducerOptions = Pick<ClientOptions, 'url' | 'internalHeaders'> & { timeoutMs?: number };

/** Appends to the embedded event log over HTTP. A batch is stored when it is answered. */
export function createEmbeddedProducer({ timeoutMs = 10_000, ...options }: EmbeddedProducerOptions): EventLogProducer {
  const dispatcher = new Agent({ connections: 4, connect: { timeout: CONNECT_TIMEOUT_MS } });
  const ledger = createClient(usageLedgerApi, { ...options, timeoutMs, dispatcher });
  return {
    async append(topic, records) {
      await ledger.appendEvents({ params: { topic }, body: { records } });
    },
    close: () => dispatcher.close(),
  };
}
