import type { Hold } from '@turnpike/holds/call/pendingCalls';
import { admitInRounds, type GateDependencies, type WantedHold } from '@turnpike/holds/gate/admitInRounds';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { ApiError } from '@turnpike/public-api/apiError';
import type { RateLimitState } from '@turnpike/public-api/headers';
import type { SlotOwner } from '@turnpike/request-reading/shares/fairSlots';
import type { KeyAllowance } from '@turnpike/request-reading/shares/keyAllowance';
import type { AdmissionFault } from '../../api/inferenceFault.ts';
import type { PricedModel } from '../../catalog/catalog.ts';
import type { CountPromptTokens, InferenceRequest } from '../../request/inferenceRequest.ts';
import { affordableOutputTokens, boundUsage, smallestCost, type UsageBound } from './boundUsage.ts';

export interface AdmitCallDependencies extends GateDependencies {
  countPromptTokens: CountPromptTokens;
  /** Prompts that engines count for calls that are then refused for want of credit. */
  refusedCounts: KeyAllowance;
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

/**
 * Gate 4: requests and tokens per minute, then billing status and the worst case against every balance, all or nothing. The byte bound of
 * the prompt decides when it fits; only when it does not, and a count could let the call in, does the engine count, so that
 * nobody is refused on a guess. Throws an `AdmissionFault`, and what keeps engines from counting for nothing; what is refused has
 * consumed nothing.
 */
export async function admitCall(dependencies: AdmitCallDependencies, call: CallToAdmit): Promise<AdmittedByGate> {
  const { countPromptTokens, refusedCounts } = dependencies;
  const { callId, key, authenticateAgain, request, model } = call;
  let bound = boundUsage(request, model);
  let giveBackCount: (() => void) | undefined;

  const toWanted = (): WantedHold => ({
    holdNanoUsd: bound.worstCaseNanoUsd,
    estimatedPromptTokens: bound.estimatedPromptTokens,
    unknownEventJson: call.unknownEventJson(bound),
  });

  /** Counts a prompt once. */
  async function findSmallerHold(availableNanoUsd: NanoUsd, asker: KeyRecord): Promise<WantedHold | undefined> {
    if (giveBackCount || availableNanoUsd < smallestCost(request, model)) return undefined;
    refusedCounts.check(asker.keyId);
    giveBackCount = refusedCounts.take(asker.keyId, request.body.bytes.length);
    const exact = await countPromptTokens(request, model, toOwner(asker));
    if (exact === undefined) return undefined;
    bound = boundUsage(request, model, exact);
    return toWanted();
  }

  const toAdmit = { callId, key, authenticateAgain, wanted: toWanted(), findSmallerHold };
  const decision = await admitInRounds(dependencies, toAdmit);
  if (decision.outcome === 'insufficient')
    throw new ApiError<AdmissionFault>({
      kind: 'insufficient_balance',
      ...decision.shortfall,
      affordableOutputTokens: affordableOutputTokens(decision.availableNanoUsd, bound, request, model),
    });
  giveBackCount?.();
  return { hold: decision.hold, bound, rateLimit: decision.rateLimit };
}

const toOwner = ({ keyId, workspace }: KeyRecord): SlotOwner => ({ keyId, workspaceId: workspace.workspaceId });
