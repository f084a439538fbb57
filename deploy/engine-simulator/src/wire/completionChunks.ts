import type { Delta } from '../engine/outputQueue.ts';
import type { FinishedChoice } from './chatCompletion.ts';
import type { AnswerIdentity, ChoiceEnd, StreamChunks } from './streamChunks.ts';
import { toFinalUsage, toRunningUsage, type Usage } from './usage.ts';

/** Writes the events of one legacy completion stream. There is no role; an echoed prompt comes first. */
export class CompletionChunks implements StreamChunks {
  readonly #head: string;
  readonly #fingerprint: string;
  readonly #echoes: readonly string[];
  readonly #runningPromptTokens: number | undefined;

  constructor(
    { id, createdAtSeconds, model, systemFingerprint }: AnswerIdentity,
    { echoes, runningUsageOf }: { echoes: readonly string[]; runningUsageOf: number | undefined },
  ) {
    this.#echoes = echoes;
    this.#runningPromptTokens = runningUsageOf;
    const head = JSON.stringify({ id, object: 'text_completion', created: createdAtSeconds, model });
    this.#head = `data: ${head.slice(0, -1)},"choices":[`;
    this.#fingerprint = systemFingerprint === null ? '' : `,"system_fingerprint":${JSON.stringify(systemFingerprint)}`;
  }

  opening(index: number): string {
    const echo = this.#echoes[index] ?? '';
    return echo === '' ? '' : this.#chunk(index, { text: echo, finishReason: null, stopReason: null }, 0);
  }

  delta(index: number, { text, completionTokens }: Delta): string {
    return this.#chunk(index, { text, finishReason: null, stopReason: null }, completionTokens);
  }

  finish(index: number, { last, finishReason, stopReason, completionTokens, isLastChunk }: ChoiceEnd): string {
    const choice = { text: last?.text ?? '', finishReason, stopReason };
    return this.#chunk(index, choice, completionTokens, isLastChunk ? this.#fingerprint : '');
  }

  usage(usage: Usage): string {
    return `${this.#head}],"usage":${JSON.stringify(toFinalUsage(usage, { isStream: true }))}${this.#fingerprint}}\n\n`;
  }

  #chunk(
    index: number,
    { text, finishReason, stopReason }: { text: string; finishReason: string | null; stopReason: string | null },
    completionTokens: number,
    ending = '',
  ): string {
    const choice = {
      index,
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
  choices: readonly FinishedChoice[],
  { echoes, usage }: { echoes: readonly string[]; usage: Usage },
): object {
  return {
    id: identity.id,
    object: 'text_completion',
    created: identity.createdAtSeconds,
    model: identity.model,
    choices: choices.map(({ deltas, finishReason, stopReason }, index) => ({
      index,
      text: (echoes[index] ?? '') + deltas.map(({ text }) => text).join(''),
      logprobs: null,
      finish_reason: finishReason,
      stop_reason: stopReason,
      token_ids: null,
      prompt_logprobs: null,
      prompt_token_ids: null,
      routed_experts: null,
    })),
    service_tier: null,
    system_fingerprint: identity.systemFingerprint,
    usage: toFinalUsage(usage, { isStream: false }),
    kv_transfer_params: null,
    ec_transfer_params: null,
    metrics: null,
  };
}
