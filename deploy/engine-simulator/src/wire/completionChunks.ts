import type { Delta } from '../engine/outputQueue.ts';
import type { FinishedChoice } from './chatCompletion.ts';
import type { AnswerIdentity, ChoiceEnd, StreamChunks } from './streamChunks.ts';
import { toFinalUsage, toRunningUsage, type Usage } from './usage.ts';

interface TextChoice {
  text: string;
  finishReason: string | null;
  stopReason: string | null;
}

/** Writes the events of one legacy completion stream. There is no role. */
export class CompletionChunks implements StreamChunks {
  readonly #head: string;
  readonly #fingerprint: string;
  readonly #runningPromptTokens: number | undefined;

  constructor(
    { id, createdAtSeconds, model, systemFingerprint }: AnswerIdentity,
    { runningUsageOf }: { runningUsageOf: number | undefined },
  ) {
    this.#runningPromptTokens = runningUsageOf;
    const head = JSON.stringify({ id, object: 'text_completion', created: createdAtSeconds, model });
    this.#head = `data: ${head.slice(0, -1)},"choices":[`;
    this.#fingerprint = `,"system_fingerprint":${JSON.stringify(systemFingerprint)}`;
  }

  opening(): string {
    return '';
  }

  delta({ text, completionTokens }: Delta): string {
    return this.#chunk({ text, finishReason: null, stopReason: null }, completionTokens);
  }

  finish({ last, finishReason, stopReason, completionTokens, isLastChunk }: ChoiceEnd): string {
    const choice = { text: last?.text ?? '', finishReason, stopReason };
    return this.#chunk(choice, completionTokens, isLastChunk ? this.#fingerprint : '');
  }

  usage(usage: Usage): string {
    return `${this.#head}],"usage":${JSON.stringify(toFinalUsage(usage, { isStream: true }))}${this.#fingerprint}}\n\n`;
  }

  #chunk({ text, finishReason, stopReason }: TextChoice, completionTokens: number, ending = ''): string {
    const choice = {
      index: 0,
      text,
      logprobs: null,
      finish_reason: finishReason,
      stop_reason: stopReason,
      prompt_token_ids: null,
      token_ids: null,
    };
    const promptTokens = this.#runningPromptTokens;
    const usage =
      promptTokens === undefined
        ? ''
        : `,"usage":${JSON.stringify(toRunningUsage({ promptTokens, completionTokens }))}`;
    return `${this.#head}${JSON.stringify(choice)}]${usage}${ending}}\n\n`;
  }
}

/** The body of a whole legacy completion. */
export function toTextCompletion(
  identity: AnswerIdentity,
  { deltas, finishReason, stopReason }: FinishedChoice,
  usage: Usage,
): object {
  return {
    id: identity.id,
    object: 'text_completion',
    created: identity.createdAtSeconds,
    model: identity.model,
    choices: [
      {
        index: 0,
        text: deltas.map(({ text }) => text).join(''),
        logprobs: null,
        finish_reason: finishReason,
        stop_reason: stopReason,
        token_ids: null,
        prompt_logprobs: null,
        prompt_token_ids: null,
        routed_experts: null,
      },
    ],
    service_tier: null,
    system_fingerprint: identity.systemFingerprint,
    usage: toFinalUsage(usage, { isStream: false }),
    kv_transfer_params: null,
    ec_transfer_params: null,
    metrics: null,
  };
}
