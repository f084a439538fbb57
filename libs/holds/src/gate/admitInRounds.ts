import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import type { Logger } from '@turnpike/logging/createLogger';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { ApiError } from '@turnpike/public-api/apiError';
import type { RateLimitState } from '@turnpike/public-api/headers';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import type { Absorber } from '../balances/absorb.ts';
import type { Hold } from '../call/pendingCalls.ts';
import type { StateByWorkspace } from '../redis/sessionState.ts';
import type { Admission, AdmitRequest } from './admit.ts';
import type { createFindShortage, Shortage } from './findShortage.ts';
import type { GateFault, Shortfall } from './gateFault.ts';
import type { createSetBackGeneration } from './keyGeneration.ts';

export interface GateDependencies {
  holds: { admit(request: AdmitRequest): Promise<Admission> };
  absorber: Pick<Absorber, 'load' | 'refresh'>;
  /** The cache of key records. */
  authenticator: { forget(keyId: string): void };
  setBackGeneration: ReturnType<typeof createSetBackGeneration>;
  shards: StateByWorkspace<'isOpen'>;
  metrics: Pick<InferenceMetrics, 'admitted'>;
  log: Logger;
}

/** The wanted hold of a call, and the ending that a sweeper would give it. */
export type WantedHold = Pick<AdmitRequest, 'holdNanoUsd' | 'estimatedPromptTokens' | 'unknownEventJson'>;

export interface CallToAdmit {
  callId: string;
  key: KeyRecord;
  /** Asks again who is calling, after the key was found to have changed. */
  authenticateAgain: () => Promise<KeyRecord>;
  wanted: WantedHold;
  /**
   * Finds out whether the call could do with less, where a balance carries but `availableNanoUsd`: it is asked for that then. Asked
   * each time that a balance is found to be too small, and before newer credits are.
   */
  findSmallerHold?: (availableNanoUsd: NanoUsd, key: KeyRecord) => Promise<WantedHold | undefined>;
}

/** Decision of the gate. The caller words a refusal for a call that does not fit. */
export type GateDecision = { outcome: 'admitted'; hold: Hold; rateLimit: RateLimitState } | Insufficient;

/** `availableNanoUsd` is what the scarcest balance carries; negative where a limit was lowered below what is committed. */
export interface Insufficient {
  outcome: 'insufficient';
  shortfall: Shortfall;
  availableNanoUsd: NanoUsd;
}

const refuse = (fault: GateFault, cause?: unknown): ApiError<GateFault> => new ApiError(fault, { cause });

/** Each of: load balances, ask auth again, fetch newer credits. More rounds would mean that they do not help. */
const MAX_ROUNDS = 4;

/**
 * Asks the gate for a hold, and asks again with what was missing. That may be balances that Redis does not have, a
 * newer record of the key, a smaller hold, or newer credits. No call is therefore refused on stale data. Throws a
 * `GateFault`. A refused call has consumed nothing.
 */
export async function admitInRounds(dependencies: GateDependencies, call: CallToAdmit): Promise<GateDecision> {
  const { holds, absorber, authenticator, shards, metrics } = dependencies;
  let { key, wanted } = call;
  if (!shards.of(key.workspace.workspaceId)?.sessionState.isOpen) throw refuse({ kind: 'admission_unavailable' });
  /** The generation in force before auth was asked last. */
  let seen: number | undefined;

  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const askedAt = performance.now();
    const admission = await holds.admit({ callId: call.callId, key, ...wanted }).catch((error: unknown) => {
      throw refuse({ kind: 'admission_unavailable' }, error);
    });
    const isToldAgain = admission.outcome === 'rate_limited' && admission.isToldAgain;
    if (!isToldAgain) metrics.admitted((performance.now() - askedAt) / 1_000);
    switch (admission.outcome) {
      case 'admitted':
        return { outcome: 'admitted', hold: admission.hold, rateLimit: admission.rateLimit };
      case 'rate_limited':
        throw refuse({
          kind: 'rate_limited',
          limiter: admission.limiter,
          retryAfterMs: admission.retryAfterMs,
          rateLimit: admission.rateLimit,
        });
      case 'not_loaded':
        await absorber
          .load(key.workspace.workspaceId, key.keyId, '', key.periodBudget?.period)
          .catch((error: unknown) => {
            throw refuse({ kind: 'admission_unavailable' }, error);
          });
        break;
      case 'stale_key': {
        authenticator.forget(key.keyId);
        const { generation: brought } = key;
        key = await call.authenticateAgain();
        // Told twice the same. An answer may be to a question from before the change, the next one is not. It is older than what was
        // told of, or is refused though it is not, as of a key that was revoked.
        const isSetBack = key.generation < admission.generation || brought >= admission.generation;
        if (isSetBack && seen === admission.generation) await followSetBack(dependencies, key, seen);
        seen = admission.generation;
        break;
      }
      case 'not_billable':
        throw refuse(toBillingFault(key));
      case 'closed':
        throw refuse({ kind: 'admission_unavailable' });
      case 'insufficient': {
        const smaller = await call.findSmallerHold?.(admission.availableNanoUsd, key);
        if (smaller) {
          wanted = smaller;
          break;
        }
        const hasChanged = await fetchCredits(dependencies, key);
        if (hasChanged && round < MAX_ROUNDS - 1) break;
        return toShortfall(admission, { key, holdNanoUsd: wanted.holdNanoUsd });
      }
    }
  }
  throw refuse({ kind: 'admission_unavailable' });
}

/**
 * Accepts an older record of a key if auth gives it after the change that Redis knows of. Auth commits a change before
 * it announces it, so such a record is of a database that was restored. The record counts again from now on, unless the
 * key was revoked or blocked.
 */
async function followSetBack(
  { setBackGeneration, log }: GateDependencies,
  { keyId, generation, workspace: { workspaceId } }: KeyRecord,
  seen: number,
): Promise<void> {
  const outcome = await setBackGeneration({ workspaceId, keyId, generation }, seen).catch((error: unknown) => {
    throw refuse({ kind: 'admission_unavailable' }, error);
  });
  const about = { keyId, workspaceId, generation, seen };
  if (outcome === 'set_back' && generation < seen)
    log.error(about, 'ALERT auth gives an older record of a key than it had told of: its database was set back');
  if (outcome !== 'kept_out') return;
  log.error(about, 'ALERT auth lets in a key that was revoked or blocked: its database was set back; do that again');
  throw refuse({ kind: 'admission_unavailable' });
}

/** Whether newer credits have come from the ledger. */
const fetchCredits = (
  { absorber, log }: Pick<GateDependencies, 'absorber' | 'log'>,
  { workspace: { workspaceId } }: KeyRecord,
): Promise<boolean> =>
  absorber.refresh(workspaceId).catch((error: unknown) => {
    log.warn({ err: error }, 'newer credits cannot be asked for; the balances at hand decide');
    return false;
  });

/** Returns the fault of a key whose workspace may not spend. */
const toBillingFault = ({ workspace }: KeyRecord): GateFault =>
  workspace.billingStatus === 'on_hold' ? { kind: 'account_on_hold' } : { kind: 'billing_not_provisioned' };

function toShortfall(
  { limiter, keySpentNanoUsd, keyHeldNanoUsd, availableNanoUsd }: Shortage,
  { key, holdNanoUsd }: { key: KeyRecord; holdNanoUsd: NanoUsd },
): Insufficient {
  if (limiter === 'monthly_cap_reached') throw refuse({ kind: 'spend_cap_reached' });
  const { maxBudgetNanoUsd } = key;
  const remaining = maxBudgetNanoUsd === null ? null : maxBudgetNanoUsd - keySpentNanoUsd;
  const shortfall: Shortfall = {
    maxUsageCostNanoUsd: holdNanoUsd,
    remainingNanoUsd: availableNanoUsd < 0n ? 0n : availableNanoUsd,
    keyRemainingNanoUsd: remaining !== null && remaining < 0n ? 0n : remaining,
    heldNanoUsd: keyHeldNanoUsd,
    limitedBy: limiter,
    ...(limiter === 'key_period_budget' && key.periodBudget && { period: key.periodBudget.period }),
  };
  return { outcome: 'insufficient', shortfall, availableNanoUsd };
}

/**
 * Checks a key's balance against the least cost of a call, before expensive work for the call. Throws a `GateFault` if
 * the key may not spend at all. It holds nothing. If it cannot decide, the admission decides.
 */
export async function findLack(
  dependencies: Pick<GateDependencies, 'absorber' | 'log'> & { findShortage: ReturnType<typeof createFindShortage> },
  key: KeyRecord,
  leastNanoUsd: NanoUsd,
): Promise<Insufficient | undefined> {
  if (key.workspace.billingStatus !== 'active') throw refuse(toBillingFault(key));
  if (leastNanoUsd === 0n) return undefined;
  const { absorber, findShortage, log } = dependencies;
  const ask = async (): Promise<Shortage | undefined> => {
    try {
      const shortage = await findShortage(key, leastNanoUsd);
      if (shortage !== 'not_loaded') return shortage;
      await absorber.load(key.workspace.workspaceId, key.keyId, '', key.periodBudget?.period);
      const loaded = await findShortage(key, leastNanoUsd);
      return loaded === 'not_loaded' ? undefined : loaded;
    } catch (error) {
      log.warn({ err: error }, 'what a key may spend cannot be asked for; its admission decides');
      return undefined;
    }
  };
  let shortage = await ask();
  if (shortage && (await fetchCredits(dependencies, key))) shortage = await ask();
  return shortage && toShortfall(shortage, { key, holdNanoUsd: leastNanoUsd });
}
