import type { ChatChunk } from '@turnpike/public-api/chatAnswer';
import type { FinishReason } from '@turnpike/public-api/generatedAnswer';
import type { TextChunk } from '@turnpike/public-api/textCompletion';
import type { TokenUsage } from '@turnpike/public-api/tokenUsage';
import type { WireError } from '@turnpike/public-api/wireError';
import type { EncoderTerms, PlainField, PlainFrame, StreamEncoder, StreamFinish } from '../chunks/streamEncoder.ts';
import { type AnswerIdentity, toUsageBody } from '../fields/answerFields.ts';

/** Fields of all chunks of a stream. */
export interface ChunkHead extends AnswerIdentity {
  model: string;
  /** Whoever asked for usage sees the key on every chunk, as the convention has it. */
  usage?: TokenUsage | null;
}

/** How chunks look. */
interface ChunkForm<Value> {
  emptyValue: Value;
  /** The fields that a plain text stands in, by its own field. */
  plainFields: Partial<Record<PlainField, readonly string[]>>;
  /** A chunk with one choice, or with none. */
  toChunk(
    head: ChunkHead,
    part: { value: Value; finishReason: FinishReason | null } | undefined,
  ): ChatChunk | TextChunk;
}

const DONE = 'data: [DONE]\n\n';
/** Stands for the text where a frame is made. No model's name holds it, and no id is as long. */
const MARK = 'TEXT'.repeat(80);

/**
 * Writes chunks, each an event by itself: `id`, `object`, `created`, `model`, `choices` with `index`, the new value, `logprobs`
 * (always null) and `finish_reason`; `usage` where it was asked for. `[DONE]` ends a stream that is whole.
 */
export class ChunkEncoder<Value> implements StreamEncoder<Value> {
  readonly #form: ChunkForm<Value>;
  readonly #terms: EncoderTerms;

  constructor(form: ChunkForm<Value>, terms: EncoderTerms) {
    this.#form = form;
    this.#terms = terms;
  }

  write(identity: AnswerIdentity, value: Value): string {
    return this.#event(identity, { value, finishReason: null });
  }

  framePlain(identity: AnswerIdentity, field: PlainField): PlainFrame | undefined {
    const fields = this.#form.plainFields[field];
    const value = fields?.length === 0 ? MARK : Object.fromEntries((fields ?? []).map((name) => [name, MARK]));
    return fields && { parts: this.write(identity, value as Value).split(MARK) };
  }

  finish(identity: AnswerIdentity, { finishReason, usage }: StreamFinish): string {
    const finish = this.#event(identity, { value: this.#form.emptyValue, finishReason });
    const isShown = usage && this.#terms.includeUsage;
    return `${finish}${isShown ? this.#event(identity, undefined, toUsageBody(usage, this.#terms)) : ''}${DONE}`;
  }

  fail({ body }: WireError): string {
    return `data: ${JSON.stringify(body)}\n\n`;
  }

  #event(
    identity: AnswerIdentity,
    part: { value: Value; finishReason: FinishReason | null } | undefined,
    usage: TokenUsage | null = null,
  ): string {
    const { canonicalModel: model, includeUsage } = this.#terms;
    const head = { ...identity, model, ...(includeUsage && { usage }) };
    return `data: ${JSON.stringify(this.#form.toChunk(head, part))}\n\n`;
  }
}
