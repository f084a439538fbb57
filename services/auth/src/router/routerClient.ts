import { ApiError } from '@turnpike/api-errors/apiError';
import type { Logger } from '@turnpike/logging/createLogger';
import { type NanoUsd, nanoUsdSchema } from '@turnpike/money/nanoUsd';
import type { CallSpan } from '@turnpike/telemetry/callSpan';
import { Agent, request } from 'undici';
import { z } from 'zod';
import type { AuthServiceFault } from '../api/authServiceFault.ts';
import type { KeyGeneration } from '../keys/keyGeneration.ts';

const MAX_ANSWER_BYTES = 16 * 1024;
/** Questions for spend on their way at once. */
const ASKED_AT_ONCE = 32;
/** Announcements on their way at once. */
const ANNOUNCED_AT_ONCE = 32;
/** Longest time in which announcements are begun: the operator waits for 10 s. */
const ANNOUNCING_MS = 8_000;

const spendSchema = z.object({ spend_nano_usd: nanoUsdSchema });

export interface RouterClient {
  /**
   * A key's live spend. The router goes on with the trace of `span`. Throws a `router_…` fault when it gives no usable
   * answer in time.
   */
  getKeySpend(key: { workspaceId: string; keyId: string }, span: CallSpan): Promise<NanoUsd>;
  /**
   * Tells the router that keys have changed, so that it lets go of older records at once. To be called once the change is
   * committed. Throws `gate_not_told` where it could not be told of every key, having tried each: of those it goes by what it
   * has cached for at most 30 s longer.
   */
  announceGenerations(keys: KeyGeneration[], log: Logger): Promise<void>;
  close(): Promise<void>;
}

export interface RouterClientOptions {
  /** Base address of the router's internal listener. */
  url: string;
  internalHeaders: (audience: string) => Record<string, string>;
  /** Longest wait for an answer. */
  timeoutMs?: number;
}

export function createRouterClient({ url, internalHeaders, timeoutMs = 1_000 }: RouterClientOptions): RouterClient {
  const connectUpTo = (connections: number): Agent =>
    new Agent({ connections, maxResponseSize: MAX_ANSWER_BYTES, connect: { timeout: timeoutMs } });
  const questions = connectUpTo(ASKED_AT_ONCE);
  // Connections of their own: what a key may no longer do is not told behind other keys' look-ups.
  const announcements = connectUpTo(ANNOUNCED_AT_ONCE);

  async function call(
    method: 'GET' | 'PUT',
    path: string,
    traceparent: string | undefined,
  ): Promise<{ status: number; text: string }> {
    const { statusCode, body } = await request(`${url}/internal${path}`, {
      method,
      headers: { ...internalHeaders('model-router'), ...(traceparent !== undefined && { traceparent }) },
      signal: AbortSignal.timeout(timeoutMs),
      dispatcher: method === 'GET' ? questions : announcements,
    }).catch((error: unknown) => {
      throw fault('router_unavailable', error);
    });
    const text = await body.text().catch((error: unknown) => {
      throw fault('router_unavailable', error);
    });
    if (statusCode === 401 || statusCode === 403) throw fault('router_refused_credentials', `status ${statusCode}`);
    if (statusCode >= 500) throw fault('router_unavailable', `status ${statusCode}`);
    return { status: statusCode, text };
  }

  async function announce({ workspaceId, keyId, generation }: KeyGeneration): Promise<void> {
    const path = `/workspaces/${workspaceId}/keys/${keyId}/generation?generation=${generation}`;
    const { status } = await call('PUT', path, undefined);
    if (status !== 200) throw fault('router_malformed_response', `status ${status}`);
  }

  return {
    async getKeySpend({ workspaceId, keyId }, { traceparent }) {
      const { status, text } = await call('GET', `/workspaces/${workspaceId}/keys/${keyId}/spend`, traceparent);
      try {
        if (status !== 200) throw new Error(`status ${status}`);
        return spendSchema.parse(JSON.parse(text)).spend_nano_usd;
      } catch (error) {
        throw fault('router_malformed_response', error);
      }
    },
    async announceGenerations(keys, log) {
      const deadline = performance.now() + ANNOUNCING_MS;
      let failures: unknown[] = [];
      let told = 0;
      for (let start = 0; start < keys.length && performance.now() < deadline; start += ANNOUNCED_AT_ONCE) {
        const outcomes = await Promise.allSettled(keys.slice(start, start + ANNOUNCED_AT_ONCE).map(announce));
        told += outcomes.filter(({ status }) => status === 'fulfilled').length;
        failures = failures.concat(
          outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason] : [])),
        );
      }
      if (told === keys.length) return;
      const [cause] = failures;
      log.warn({ err: cause, keys: keys.length, told }, 'the router could not be told of all changed keys');
      throw fault('gate_not_told', cause);
    },
    async close() {
      await Promise.all([questions.close(), announcements.close()]);
    },
  };
}

type RouterFault = 'gate_not_told' | 'router_unavailable' | 'router_refused_credentials' | 'router_malformed_response';

const fault = (kind: RouterFault, cause: unknown): ApiError<AuthServiceFault> => new ApiError({ kind }, { cause });
