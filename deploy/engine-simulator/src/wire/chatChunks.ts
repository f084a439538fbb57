import type { Delta } from '../engine/outputQueue.ts';
import type { Knobs } from '../knobs.ts';
import type { AnswerIdentity, ChoiceEnd, StreamChunks } from './streamChunks.ts';
import { toFinalUsage, toRunningUsage, type Usage } from './usage.ts';

export interface ChunkOptions {
  /** Prompt tokens, where every chunk carries the running usage. */
  runningUsageOf: number | undefined;
  knobs: Pick<Knobs, 'reasoningField' | 'toolIds'>;
}

/**
 * Writes the events of one chat stream, byte for byte as vLLM orders its keys. The parts that never change are made once:
 * a stream has thousands of chunks.
 */
export class ChatChunks implements StreamChunks {
  readonly #head: string;
  readonly #fingerprint: string;
  readonly #options: ChunkOptions;

  constructor({ id, createdAtSeconds, model, systemFingerprint }: AnswerIdentity, options: ChunkOptions) {
    this.#options = options;
    const head = JSON.stringify({ id, object: 'chat.completion.chunk', created: createdAtSeconds, model });
    this.#head = `data: ${head.slice(0, -1)},"choices":[`;
    this.#fingerprint = `,"system_fingerprint":${JSON.stringify(systemFingerprint)}`;
  }

  opening(): string {
    const delta = '{"role":"assistant","content":""}';
    return `${this.#head}{"index":0,"delta":${delta},"logprobs":null,"finish_reason":null}]${this.#usage(0)},"prompt_token_ids":null,"prompt_text":null}\n\n`;
  }

  delta(delta: Delta): string {
    return `${this.#head}{"index":0,"delta":${this.#toDeltaJson(delta)},"logprobs":null,"finish_reason":null,"token_ids":null}]${this.#usage(delta.completionTokens)}}\n\n`;
  }

  finish({ last, finishReason, stopReason, completionTokens, isLastChunk }: ChoiceEnd): string {
    const delta = last ? this.#toDeltaJson(last) : '{}';
    const fingerprint = isLastChunk ? this.#fingerprint : '';
    return `${this.#head}{"index":0,"delta":${delta},"logprobs":null,"finish_reason":"${finishReason}","stop_reason":${JSON.stringify(stopReason)},"token_ids":null}]${this.#usage(completionTokens)}${fingerprint}}\n\n`;
  }

  usage(usage: Usage): string {
    return `${this.#head}],"usage":${JSON.stringify(toFinalUsage(usage, { isStream: true }))}${this.#fingerprint}}\n\n`;
  }

  #usage(completionTokens: number): string {
    const promptTokens = this.#options.runningUsageOf;
    if (promptTokens === undefined) return '';
    const usage = { ...toRunningUsage({ promptTokens, completionTokens }), completion_tokens_details: null };
    return `,"usage":${JSON.stringify(usage)}`;
  }

  #toDeltaJson({ kind, text, toolIndex = 0, toolCallId }: Delta): string {
    const json = JSON.stringify(text);
    switch (kind) {
      case 'content':
        return `{"content":${json}}`;
      case 'reasoning':
        return `{${reasoningNames[this.#options.knobs.reasoningField].map((name) => `"${name}":${json}`).join(',')}}`;
      case 'tool_name': {
        const id = this.#options.knobs.toolIds === 'present' ? `"id":"${toolCallId}",` : '';
        return `{"content":null,"tool_calls":[{${id}"type":"function","index":${toolIndex},"function":{"name":${json}}}]}`;
      }
      case 'tool_arguments':
        return `{"content":null,"tool_calls":[{"index":${toolIndex},"function":{"arguments":${json}}}]}`;
    }
  }
}

/** The names that thinking goes by. */
export const reasoningNames: Record<Knobs['reasoningField'], readonly string[]> = {
  reasoning: ['reasoning'],
  reasoning_content: ['reasoning_content'],
  both: ['reasoning', 'reasoning_content'],
};
