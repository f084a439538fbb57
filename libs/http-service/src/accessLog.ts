import type { BufferedLines } from '@turnpike/logging/bufferedLines';
import type { EndedCall } from '@turnpike/telemetry/inferenceMetrics';

/** Facts of a request that the server of every service knows. */
export interface RequestFacts {
  requestId: string;
  callId: string | undefined;
  keyId: string | undefined;
  route: string;
  /** Undefined if the client left before there was an answer. */
  status: number | undefined;
  /** Kind of the fault that the request was refused or failed by. */
  fault: string | undefined;
  /** Says whether the answer is whole, broke off after its head, or was left by its client. */
  outcome: 'whole' | 'cut' | 'left';
  /** Milliseconds from the request to the end of its answer. */
  ms: number;
}

/** Facts of a call that its handler knows. All are ids of ours, codes or counts. */
export interface CallFacts {
  callId?: string;
  /** Canonical model of the catalog. Never what the client typed. */
  model?: string;
  /** Id of the engine or backend that had the call last. */
  engine?: string;
  /** The call in its book, which has its end once there is one. */
  call?: { readonly ended?: (EndedCall & { reason: string | null }) | undefined };
}

/** Most lines a second about requests that were refused or failed. A flood of them must not fill a disk. */
const MOST_FAILURES_PER_SECOND = 1_000;

/**
 * One line for each answered request of the API: ids, codes, counts and the charge. Requests that were served are sampled. Those that
 * were refused or failed all have a line, up to a bound. `leftOut` of a later line counts those beyond it, and those for
 * which standard output had no room.
 */
export class AccessLog {
  readonly #lines: Pick<BufferedLines, 'write'>;
  readonly #sampleRatio: number;
  #secondBeganAt = 0;
  #failures = 0;
  #leftOut = 0;

  constructor(lines: Pick<BufferedLines, 'write'>, { sampleRatio }: { sampleRatio: number }) {
    this.#lines = lines;
    this.#sampleRatio = sampleRatio;
  }

  write(request: RequestFacts, { model, engine, call }: CallFacts): void {
    const hasFailed = request.fault !== undefined || request.outcome !== 'whole' || Number(request.status) >= 400;
    if (hasFailed ? !this.#hasRoom() : this.#sampleRatio < 1 && Math.random() >= this.#sampleRatio) return;
    const ended = call?.ended;
    const isOfTokens = ended?.units === undefined;
    const leftOut = this.#leftOut;
    const isWritten = this.#lines.write({
      ...request,
      model: ended?.canonicalModel ?? model,
      engine,
      promptTokens: isOfTokens ? ended?.promptTokens : undefined,
      cachedPromptTokens: isOfTokens ? ended?.cachedPromptTokens : undefined,
      completionTokens: isOfTokens ? ended?.completionTokens : undefined,
      units: ended?.units,
      chargeNanoUsd: ended && String(ended.chargeNanoUsd),
      ending: ended?.status,
      reason: ended?.reason ?? undefined,
      leftOut: leftOut === 0 ? undefined : leftOut,
    });
    this.#leftOut = isWritten ? 0 : leftOut + 1;
  }

  #hasRoom(): boolean {
    const now = performance.now();
    if (now - this.#secondBeganAt >= 1_000) {
      this.#secondBeganAt = now;
      this.#failures = 0;
    }
    this.#failures += 1;
    if (this.#failures <= MOST_FAILURES_PER_SECOND) return true;
    this.#leftOut += 1;
    return false;
  }
}
