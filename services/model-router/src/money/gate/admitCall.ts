import type { Authenticator } from '@turnpike/authentication/createAuthenticator';
import type { Absorber } from '@turnpike/holds/balances/absorb';
import type { Hold } from '@turnpike/holds/call/pendingCalls';
import type { Admission } from '@turnpike/holds/gate/admit';
import type { createSetBackGeneration } from '@turnpike/holds/gate/keyGeneration';
import type { Holds } from '@turnpike/holds/holds';
import type { StandingOf } from '@turnpike/holds/redis/standing';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import type { Logger } from '@turnpike/logging/createLogger';
import { ApiError } from '@turnpike/public-api/apiError';
import type { RateLimitState } from '@turnpike/public-api/headers';
import type { InferenceMetrics } from '@turnpike/telemetry/inferenceMetrics';
import type { AdmissionFault } from '../../api/inferenceFault.ts';
import type { PricedModel } from '../../catalog/catalog.ts';
import type { CountPromptTokens } from '../../request/countPromptTokens.ts';
import type { InferenceRequest } from '../../request/inferenceRequest.ts';
import type { SlotOwner } from '../../request/shares/fairSlots.ts';
import type { KeyAllowance } from '../../request/shares/keyAllowance.ts';
import { affordableOutputTokens, boundUsage, smallestCost, type UsageBound } from './boundUsage.ts';

export interface AdmitCallDependencies {
  holds: Pick<Holds, 'admit'>;
  absorber: Pick<Absorber, 'load' | 'refresh'>;
  authenticator: Authenticator;
  setBackGeneration: ReturnType<typeof createSetBackGeneration>;
  countPromptTokens: CountPromptTokens;
  /** Prompts that engines count for calls that are then refused for want of credit. */
  refusedCounts: KeyAllowance;
  standingOf: StandingOf<'isOpen'>;
  metrics: Pick<InferenceMetrics, 'admitted'>;
  log: Logger;
}

export interface CallToAdmit {
  callId: string;
  key: KeyRecord;
  /** Asks again who is calling, after the key was found to have changed. */
  authenticateAgain: () => Promise<KeyRecord>;
  request: InferenceRequest;
  model: PricedModel;
  unknownEventJson: (bound: UsageBound) => string;
}

export interface AdmittedByGate {
  hold: Hold;
  bound: UsageBound;
  rateLimit: RateLimitState;
}

const refuse = (fault: AdmissionFault, cause?: unknown): ApiError<AdmissionFault> => new ApiError(fault, { cause });

/** Each of: load balances, ask auth again, fetch newer credits. More rounds would mean that they do not help. */
const MAX_ROUNDS = 4;

/**
 * Gate 4: requests and tokens per minute, then billing status and the worst case against every balance, all or nothing. The byte bound of
 * the prompt decides when it fits; only when it does not, and a count could let the call in, does the engine count, so that
 * nobody is refused on a guess. Throws an `AdmissionFault`, and what keeps engines from counting for nothing; what is refused has
 * consumed nothing.
 */
export async function admitCall(dependencies: AdmitCallDependencies, call: CallToAdmit): Promise<AdmittedByGate> {
  const { absorber, authenticator, countPromptTokens, refusedCounts, standingOf, log } = dependencies;
  const { request, model } = call;
  let { key } = call;
  const standing = standingOf(key.workspace.workspaceId);
  if (!standing?.isOpen) throw refuse({ kind: 'admission_unavailable' });
  let bound = boundUsage(request, model);
  /** The generation in force before auth was asked last. */
  let seen: number | undefined;
  let giveBackCount: (() => void) | undefined;

  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const admission = await decide(dependencies, { ...call, key }, bound);
    switch (admission.outcome) {
      case 'admitted':
        giveBackCount?.();
        return { hold: admission.hold, bound, rateLimit: admission.rateLimit };
      case 'rate_limited':
        throw refuse({
          kind: 'rate_limited',
          limiter: admission.limiter,
          retryAfterMs: admission.retryAfterMs,
          rateLimit: admission.rateLimit,
        });
      case 'not_loaded':
        await absorber.load(key.workspace.workspaceId, key.keyId).catch((error: unknown) => {
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
        if (!giveBackCount && admission.availableNanoUsd >= smallestCost(request, model)) {
          refusedCounts.check(key.keyId);
          giveBackCount = refusedCounts.take(key.keyId, request.body.bytes.length);
          const exact = await countPromptTokens(request, model, toOwner(key));
          if (exact !== undefined) {
            bound = boundUsage(request, model, exact);
            break;
          }
        }
        const hasChanged = await absorber.refresh(key.workspace.workspaceId).catch((error: unknown) => {
          log.warn({ err: error }, 'newer credits cannot be asked for; the balances at hand decide');
          return false;
        });
        if (hasChanged && round < MAX_ROUNDS - 1) break;
        throw toBalanceFault(admission, { key, request, model, bound });
      }
    }
  }
  throw refuse({ kind: 'admission_unavailable' });
}

/**
 * Auth commits a change before it tells of it, so a record that it gives afterwards and that is older is of a database that was set
 * back. What it says counts again from now on, but of a key that was revoked or blocked.
 */
async function followSetBack(
  { setBackGeneration, log }: AdmitCallDependencies,
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

async function decide(
  { holds, metrics }: AdmitCallDependencies,
  call: CallToAdmit,
  bound: UsageBound,
): Promise<Admission> {
  const { callId, key } = call;
  const askedAt = performance.now();
  try {
    const admission = await holds.admit({
      callId,
      key,
      holdNanoUsd: bound.worstCaseNanoUsd,
      estimatedPromptTokens: bound.estimatedPromptTokens,
      unknownEventJson: call.unknownEventJson(bound),
    });
    metrics.admitted((performance.now() - askedAt) / 1_000);
    return admission;
  } catch (error) {
    throw refuse({ kind: 'admission_unavailable' }, error);
  }
}

const toOwner = ({ keyId, workspace }: KeyRecord): SlotOwner => ({ keyId, workspaceId: workspace.workspaceId });

const toBillingFault = ({ workspace }: KeyRecord): AdmissionFault =>
  workspace.billingStatus === 'on_hold' ? { kind: 'account_on_hold' } : { kind: 'billing_not_provisioned' };

function toBalanceFault(
  admission: Extract<Admission, { outcome: 'insufficient' }>,
  { key, request, model, bound }: { key: KeyRecord; request: InferenceRequest; model: PricedModel; bound: UsageBound },
): ApiError<AdmissionFault> {
  const { limiter, keySpentNanoUsd, keyHeldNanoUsd, availableNanoUsd } = admission;
  if (limiter === 'monthly_cap_reached') return refuse({ kind: 'spend_cap_reached' });
  const { maxBudgetNanoUsd } = key;
  const remaining = maxBudgetNanoUsd === null ? null : maxBudgetNanoUsd - keySpentNanoUsd;
  return refuse({
    kind: 'insufficient_balance',
    maxUsageCostNanoUsd: bound.worstCaseNanoUsd,
    keyRemainingNanoUsd: remaining !== null && remaining < 0n ? 0n : remaining,
    heldNanoUsd: keyHeldNanoUsd,
    limitedBy: limiter,
    affordableOutputTokens: affordableOutputTokens(availableNanoUsd, bound, request, model),
  });
}
