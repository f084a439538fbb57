import { modelRouterApi } from '@turnpike/internal-api/modelRouter';
import { type ClientOptions, createClient, InternalCallError } from '@turnpike/internal-api/transport/createClient';
import type { Logger } from '@turnpike/logging/createLogger';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { ApiError } from '@turnpike/public-api/apiError';
import { Agent } from 'undici';
import type { AuthServiceFault, SpendFault } from '../api/authServiceError.ts';
import type { KeyGeneration } from '../keys/keyGeneration.ts';
import type { ReadOfKey } from './shareReads.ts';

/** Questions for spend on their way at once. */
const ASKED_AT_ONCE = 32;
/** Announcements on their way at once. */
const ANNOUNCED_AT_ONCE = 32;
/** Longest time in which announcements are begun: the operator waits for 10 s. */
const ANNOUNCING_MS = 8_000;

export interface RouterClient {
  /**
   * Returns a key's live spend, in all and in the given period, and what is used of its rates. Throws a `router_…` fault without a
   * usable answer in time.
   */
  getKeySpend: ReadOfKey<{
    spentNanoUsd: NanoUsd;
    heldNanoUsd: NanoUsd;
    periodSpentNanoUsd: NanoUsd | null;
    usedRequests: number | undefined;
    usedTokens: number | undefined;
  }>;
  /** Returns the live balance of a key's workspace. Throws a `router_…` fault without a usable answer in time. */
  getCredit: ReadOfKey<{ creditNanoUsd: NanoUsd; heldNanoUsd: NanoUsd; monthSpentNanoUsd: NanoUsd }>;
  /**
   * Notifies the router of changed keys, so that it drops older records at once. Call it once the change is
   * committed. Tries every key, and throws `gate_not_told` if any notification failed. For such a key the router may use its
   * cached record for at most 30 s longer.
   */
  announceGenerations(keys: KeyGeneration[], log: Logger): Promise<void>;
  close(): Promise<void>;
}

/** The wait is 1 s unless given. */
export type RouterClientOptions = Pick<ClientOptions, 'url' | 'internalHeaders'> & { timeoutMs?: number };

export function createRouterClient({ timeoutMs = 1_000, ...options }: RouterClientOptions): RouterClient {
  const connectUpTo = (connections: number): Agent => new Agent({ connections, connect: { timeout: timeoutMs } });
  const questions = connectUpTo(ASKED_AT_ONCE);
  // Connections of their own: what a key may no longer do is not told behind other keys' look-ups.
  const announcements = connectUpTo(ANNOUNCED_AT_ONCE);
  const asking = createClient(modelRouterApi, { ...options, timeoutMs, dispatcher: questions });
  const telling = createClient(modelRouterApi, { ...options, timeoutMs, dispatcher: announcements });
  const announce = ({ workspaceId, keyId, generation, status }: KeyGeneration) =>
    telling.raiseKeyGeneration({
      params: {
        workspace_id: workspaceId,
        key_id: keyId,
        generation,
        ...(status && { status }),
      },
    });

  return {
    async getKeySpend({ workspaceId, keyId, rates, period }, { traceparent }) {
      const params = { workspace_id: workspaceId, key_id: keyId, ...rates, ...(period && { period }) };
      const spend = await asking.getKeySpend({ params, traceparent }).catch(refuse);
      return {
        spentNanoUsd: spend.spend_nano_usd,
        heldNanoUsd: spend.held_nano_usd,
        periodSpentNanoUsd: spend.period_spend_nano_usd,
        usedRequests: spend.used_requests,
        usedTokens: spend.used_tokens,
      };
    },
    async getCredit({ workspaceId }, { traceparent }) {
      const credit = await asking.getCredit({ params: { workspace_id: workspaceId }, traceparent }).catch(refuse);
      return {
        creditNanoUsd: credit.credit_nano_usd,
        heldNanoUsd: credit.held_nano_usd,
        monthSpentNanoUsd: credit.month_spend_nano_usd,
      };
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
      throw new ApiError<AuthServiceFault>({ kind: 'gate_not_told' }, { cause });
    },
    async close() {
      await Promise.all([questions.close(), announcements.close()]);
    },
  };
}

function refuse(error: unknown): never {
  throw new ApiError<SpendFault>({ kind: toKind(error) }, { cause: error });
}

function toKind(error: unknown): SpendFault['kind'] {
  const failure = error instanceof InternalCallError ? error.failure : undefined;
  if (failure?.kind === 'malformed') return 'router_malformed_response';
  if (failure?.kind !== 'refused' || failure.status >= 500) return 'router_unavailable';
  return failure.status === 401 || failure.status === 403 ? 'router_refused_credentials' : 'router_malformed_response';
}
