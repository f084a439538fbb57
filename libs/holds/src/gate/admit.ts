import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import type { Logger } from '@turnpike/logging/createLogger';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { ApiError } from '@turnpike/public-api/apiError';
import type { RateLimitState } from '@turnpike/public-api/headers';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import type { Absorber } from '../balances/absorb.ts';
import type { Hold } from '../call/pendingCalls.ts';
import type { Session, StateByWorkspace } from '../redis/sessionState.ts';
import type { createFindShortage, Shortage } from './findShortage.ts';
import type { BalanceLimiter, GateFault, Shortfall } from './gateFault.ts';
import type { createSetBackGeneration } from './keyGeneration.ts';

export interface AdmitRequest
  extends Pick<Hold, 'callId' | 'holdNanoUsd' | 'estimatedPromptTokens' | 'unknownEventJson'> {
  key: KeyRecord;
}

export type Admission =
  | { outcome: 'admitted'; hold: Hold; rateLimit: RateLimitState }
  | {
      outcome: 'rate_limited';
      limiter: 'requests' | 'tokens';
      retryAfterMs: number;
      rateLimit: RateLimitState;
      /** Redis said so of an earlier call, and was not asked about this one. */
      isToldAgain?: true;
    }
  | {
      outcome: 'insufficient';
      limiter: BalanceLimiter;
      keySpentNanoUsd: NanoUsd;
      keyHeldNanoUsd: NanoUsd;
      /**
       * The amount that the scarcest limit still carries; negative where a limit was lowered below what is committed.
       */
      availableNanoUsd: NanoUsd;
      rateLimit: RateLimitState;
    }
  /**
   * `not_loaded`: Redis lacks sums that this call is limited by, they have to come from the ledger first. `closed`: this is not
   * the Redis of this owner's session. `stale_key`: the key or its workspace changed since its record was read, auth has to
   * be asked again. `not_billable`: the workspace's billing status lets nothing in.
   */
  | { outcome: 'not_loaded' | 'closed' | 'not_billable' }
  | {
      outcome: 'stale_key';
      /** From which on its records are admitted. */
      generation: number;
    };

/** An outcome, and what is known with it (`admit.lua`). */
type Answer = (string | number)[];

/** Why the script may have to refuse a workspace whatever its balances are. */
export const OBSTACLES: Record<KeyRecord['workspace']['billingStatus'], string> = {
  active: '',
  on_hold: 'account_on_hold',
  not_provisioned: 'billing_not_provisioned',
};

/** The arguments of `admit.lua` behind those that every script has. */
export function admitArguments(
  { callId, key, holdNanoUsd, estimatedPromptTokens, unknownEventJson }: AdmitRequest,
  { session, owner }: { session: Session; owner: string },
): (string | number)[] {
  const { keyId, rpm, tpm, generation, maxBudgetNanoUsd, periodBudget } = key;
  const { monthlyCapNanoUsd, billingStatus } = key.workspace;
  return [
    callId,
    generation,
    rpm,
    tpm,
    estimatedPromptTokens,
    holdNanoUsd.toString(),
    maxBudgetNanoUsd?.toString() ?? '',
    monthlyCapNanoUsd?.toString() ?? '',
    session.token,
    unknownEventJson,
    keyId,
    owner,
    OBSTACLES[billingStatus],
    // More arguments would slow the admission of all other keys.
    ...(periodBudget ? [periodBudget.period, periodBudget.maxNanoUsd.toString()] : []),
  ];
}

/** Reads the answer of `admit.lua`, by hand: a schema would take this process as long as the script takes Redis. */
export function readAdmission(answer: unknown, request: AdmitRequest, session: string): Admission {
  if (!Array.isArray(answer)) throw new Error('admit.lua answered in other words');
  for (const word of answer)
    if (typeof word !== 'string' && typeof word !== 'number') throw new Error('admit.lua answered in other words');
  const words: Answer = answer;
  const [outcome, nowMs, limiter, remainingRequests, resetRequestsMs, remainingTokens, resetTokensMs, ...rest] = words;
  const [retryAfterMs, keySpentNanoUsd = 0, keyHeldNanoUsd = 0, availableNanoUsd = 0] = rest;
  const { callId, key, holdNanoUsd, estimatedPromptTokens, unknownEventJson } = request;
  const { keyId, rpm, tpm } = key;
  const rateLimit: RateLimitState = {
    limitRequests: rpm,
    remainingRequests: Number(remainingRequests),
    resetRequestsMs: Number(resetRequestsMs),
    limitTokens: tpm,
    remainingTokens: Number(remainingTokens),
    resetTokensMs: Number(resetTokensMs),
  };
  switch (outcome) {
    case 'admitted':
      return {
        outcome,
        hold: {
          callId,
          workspaceId: key.workspace.workspaceId,
          keyId,
          holdNanoUsd,
          admittedAtMs: Number(nowMs),
          session,
          estimatedPromptTokens,
          rpm,
          tpm,
          unknownEventJson,
        },
        rateLimit,
      };
    case 'rate_limited':
      return {
        outcome,
        limiter: limiter === 'tokens' ? 'tokens' : 'requests',
        retryAfterMs: Number(retryAfterMs),
        rateLimit,
      };
    case 'insufficient':
      return {
        outcome,
        limiter: limiter as BalanceLimiter,
        keySpentNanoUsd: BigInt(keySpentNanoUsd),
        keyHeldNanoUsd: BigInt(keyHeldNanoUsd),
        availableNanoUsd: BigInt(availableNanoUsd),
        rateLimit,
      };
    case 'stale_key':
      return { outcome, generation: Number(words[3]) };
    case 'not_loaded':
    case 'closed':
    case 'not_billable':
      return { outcome };
    case 'repeated':
      throw new Error('call id was used before');
    default:
      throw new Error(`admit.lua answered ${outcome}`);
  }
}

type Refusal = Extract<Admission, { outcome: 'rate_limited' }>;

/** Life of a refusal. A request that is given back meanwhile, or a newer record of the key, counts so much later at most. */
const AGAIN_MS = 100;
/** Beyond that all are forgotten: each key asks once more. */
const MOST_KEYS = 10_000;

/**
 * The refusals that Redis gave keys without requests or tokens left in the minute. Each is repeated for 100 ms, and
 * never past the instant at which the key may retry. A client that does not wait therefore costs Redis next to nothing.
 */
export class Refusals {
  readonly #known = new Map<string, { refusal: Refusal; generation: number; askedAt: number }>();

  /** Returns the refusal of a key with the time until its limits end now; undefined where Redis is to be asked. */
  repeat({ keyId, generation }: KeyRecord): Refusal | undefined {
    const known = this.#known.get(keyId);
    if (!known) return undefined;
    const ms = performance.now() - known.askedAt;
    const { refusal } = known;
    if (known.generation === generation && ms < Math.min(AGAIN_MS, refusal.retryAfterMs)) return after(ms, refusal);
    this.#known.delete(keyId);
    return undefined;
  }

  /** Keeps what Redis answered for a key when it was asked at `askedAt`. */
  add({ keyId, generation }: KeyRecord, refusal: Refusal, askedAt: number): void {
    if (this.#known.size >= MOST_KEYS) this.#known.clear();
    this.#known.set(keyId, { refusal, generation, askedAt });
  }
}

/** A refusal so much later: its end is nearer. A request or some tokens that came back meanwhile are left out. */
function after(ms: number, { rateLimit, retryAfterMs, ...refusal }: Refusal): Refusal {
  const later = (wholeMs: number): number => Math.max(Math.ceil(wholeMs - ms), 0);
  const { resetRequestsMs, resetTokensMs } = rateLimit;
  return {
    ...refusal,
    isToldAgain: true,
    retryAfterMs: later(retryAfterMs),
    rateLimit: { ...rateLimit, resetRequestsMs: later(resetRequestsMs), resetTokensMs: later(resetTokensMs) },
  };
}

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
