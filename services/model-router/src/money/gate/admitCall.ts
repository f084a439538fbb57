import type { Hold } from '@turnpike/holds/call/pendingCalls';
import { admitInRounds, type GateDependencies, type WantedHold } from '@turnpike/holds/gate/admit';
import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import type { NanoUsd } from '@turnpike/money/nanoUsd';
import { computeWorstCase } from '@turnpike/money/price';
import { ApiError } from '@turnpike/public-api/apiError';
import type { RateLimitState } from '@turnpike/public-api/headers';
import type { SlotOwner } from '@turnpike/request-reading/shares/fairSlots';
import type { KeyAllowance } from '@turnpike/request-reading/shares/keyAllowance';
import type { AdmissionFault } from '../../api/inferenceFault.ts';
import type { PricedModel } from '../../catalog/catalog.ts';
import type { CountPromptTokens, InferenceRequest } from '../../request/inferenceRequest.ts';

export interface AdmitCallDependencies extends GateDependencies {
  countPromptTokens: CountPromptTokens;
  /** Allowance for prompts that engines count for calls that are then refused for lack of credit. */
  refusedCounts: KeyAllowance;
}

export interface CallToAdmit {
  callId: string;
  key: KeyRecord;
  /** Authenticates the key again, after its record was found to have changed. */
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
 * Gate 4 checks requests and tokens per minute, billing status, and the worst case against every balance, all or
 * nothing. The byte bound of the prompt decides if it fits. If it does not fit, an engine counts the prompt, because a
 * call must not be refused on a guess. The engine is not asked if no count could admit the call. Throws an
 * `AdmissionFault`, or `key_bound_reached` if the key had too many prompts counted. A refused call has consumed
 * nothing.
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

  /** Asks an engine to count the prompt, at most once. Returns undefined if no count helps or none came. */
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

/** A chat template may print tool definitions indented, which takes more bytes than the client sent. */
const TEMPLATE_BYTES_FACTOR = 4;
/** Bytes per token in the estimate for the tokens-per-minute bucket, before an engine counts. */
const BYTES_PER_ESTIMATED_TOKEN = 4;

export interface UsageBound {
  /** Whether an engine counted the prompt. */
  isCounted: boolean;
  /** Upper bound of the prompt tokens, or their exact number if an engine counted them. */
  promptTokens: number;
  /** Sent to the engine as `max_tokens`. */
  outputTokens: number;
  estimatedPromptTokens: number;
  /** Worst-case cost of the call, held until it ends. */
  worstCaseNanoUsd: NanoUsd;
}

/** Returns whether the output may be shorter than requested, so that it fits beside the prompt. */
const mayShorten = ({ requestedOutputTokens, isOutputFitted }: InferenceRequest): boolean =>
  requestedOutputTokens === undefined || isOutputFitted === true;

/**
 * Returns the token bounds of a call and its worst-case cost. `exactPromptTokens` is an engine's count, if there is
 * one.
 */
export function boundUsage(request: InferenceRequest, model: PricedModel, exactPromptTokens?: number): UsageBound {
  const { body, prompt, operation, isStream, requestedOutputTokens } = request;
  // JSON takes at least as many bytes as its UTF-8 text, and a byte-level tokenizer makes at most one token a byte.
  let textBytes = -prompt.imageBytes;
  let templateBytes = 0;
  for (const { key, valueStart, end } of body.members) {
    if (prompt.textMembers.includes(key)) textBytes += end - valueStart;
    if (prompt.templateMembers.includes(key)) templateBytes += end - valueStart;
  }
  const mostPromptTokens =
    textBytes +
    templateBytes * TEMPLATE_BYTES_FACTOR +
    prompt.parts * model.templateTokensPerMessage +
    model.templateTokensPerRequest +
    prompt.images * model.maxTokensPerImage;
  const promptTokens = exactPromptTokens ?? mostPromptTokens;

  const { maxWholeOutputTokens = model.maxOutputLength } = operation;
  const cap = isStream ? model.maxOutputLength : Math.min(model.maxOutputLength, maxWholeOutputTokens);
  const longest = Math.min(requestedOutputTokens ?? cap, cap, model.contextLength);
  // With an exact count the default output is what is left of the window; a prompt that fills it is the engine's to refuse.
  const isOpenEnded = exactPromptTokens !== undefined && mayShorten(request);
  const outputTokens = isOpenEnded ? Math.max(1, Math.min(longest, model.contextLength - promptTokens)) : longest;
  return {
    isCounted: exactPromptTokens !== undefined,
    promptTokens,
    outputTokens,
    estimatedPromptTokens: exactPromptTokens ?? Math.ceil((textBytes + templateBytes) / BYTES_PER_ESTIMATED_TOKEN),
    worstCaseNanoUsd: costOf(promptTokens, outputTokens, { request, model }),
  };
}

/** Texts to embed have a window each; a conversation has one, that prompt and output share. */
function costOf(
  promptTokens: number,
  outputTokens: number,
  { request, model }: { request: InferenceRequest; model: PricedModel },
): NanoUsd {
  const windowTokens = request.operation.isGenerating ? model.contextLength : promptTokens;
  return computeWorstCase({ promptTokens, outputTokens, windowTokens, images: request.prompt.images }, model.prices);
}

/** The least that a call can cost. With less credit, no count of the prompt could let it in. */
const smallestCost = (request: InferenceRequest, model: PricedModel): NanoUsd =>
  costOf(request.prompt.parts, 0, { request, model });

/** How many output tokens `availableNanoUsd` would pay for beside this prompt; 0 if not even the prompt. */
export function affordableOutputTokens(
  availableNanoUsd: NanoUsd,
  bound: UsageBound,
  request: InferenceRequest,
  model: PricedModel,
): number {
  let affordable = 0;
  let tooMany = bound.outputTokens + 1;
  if (costOf(bound.promptTokens, 0, { request, model }) > availableNanoUsd) return 0;
  while (tooMany - affordable > 1) {
    const middle = Math.floor((affordable + tooMany) / 2);
    if (costOf(bound.promptTokens, middle, { request, model }) <= availableNanoUsd) affordable = middle;
    else tooMany = middle;
  }
  return affordable;
}

/**
 * Returns the bound of an admitted call with as much output as fits the window beside its prompt. An engine counts the
 * prompt if two things hold. The client named no output length, and the longest output may not fit beside the byte
 * bound. With a guess the engine could refuse a call that fits, or cut its answer. The hold stays the same, because it
 * covers any call within the window. The byte bound decides if no engine counts in time, or if the key has too many
 * counts in progress.
 */
export async function fitOutput(
  countPromptTokens: CountPromptTokens,
  {
    request,
    model,
    owner,
    bound,
  }: { request: InferenceRequest; model: PricedModel; owner: SlotOwner; bound: UsageBound },
): Promise<UsageBound> {
  const fits = bound.promptTokens + bound.outputTokens <= model.contextLength;
  if (bound.isCounted || fits || !mayShorten(request)) return bound;
  try {
    const exact = await countPromptTokens(request, model, owner);
    if (exact === undefined) return bound;
    return { ...boundUsage(request, model, exact), worstCaseNanoUsd: bound.worstCaseNanoUsd };
  } catch (error) {
    if (error instanceof ApiError) return bound;
    throw error;
  }
}
