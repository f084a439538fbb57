import type { Token } from 'node-llama-cpp';
import { bytesOf, controlToken } from '../model/vocabulary.ts';
import type { JsonConstraint } from './createJsonConstraint.ts';
import type { EngineMetrics } from './engineMetrics.ts';
import type { FinishReason } from './finishReason.ts';
import type { Lease, SequenceSlots } from './sequenceSlots.ts';
import { StopStrings } from './stopStrings.ts';

export interface GenerationRequest {
  promptTokens: Token[];
  maxTokens: number;
  /** 0 takes the likeliest token always. */
  temperature: number;
  topP: number;
  /** Unsigned, 32 bits. */
  seed: number;
  stop: string[];
  /** Goes on after the token that ends an answer, up to `maxTokens`. */
  ignoresEnd: boolean;
  json: JsonConstraint | undefined;
  cacheSalt: string;
}

const END_TOKEN = controlToken('<|end|>');

/** One answer in the making. What it counts is true at any moment, also after it was aborted. */
export class Generation {
  readonly #request: GenerationRequest;
  readonly #slots: SequenceSlots;
  readonly #metrics: EngineMetrics;
  readonly #aborter = new AbortController();
  readonly #leasing: Promise<Lease>;
  /** Prompt tokens that were not computed anew. */
  cachedTokens = 0;
  /** Tokens generated so far, the one that ended the answer included. */
  completionTokens = 0;
  finishReason: FinishReason | undefined;
  /** The stop string that ended the answer. */
  stopReason: string | null = null;

  /** Joins the queue at once. */
  constructor(request: GenerationRequest, { slots, metrics }: { slots: SequenceSlots; metrics: EngineMetrics }) {
    this.#request = request;
    this.#slots = slots;
    this.#metrics = metrics;
    const { promptTokens, cacheSalt } = request;
    this.#leasing = this.#slots.lease({ promptTokens, cacheSalt, signal: this.#aborter.signal });
    this.#leasing.catch(() => {}); // `run` tells it; until then nobody waits for it
  }

  get promptTokens(): number {
    return this.#request.promptTokens.length;
  }

  /** Ends the answer at its next token, or its wait for a sequence now. */
  abort(): void {
    this.#aborter.abort();
  }

  /** The answer's text, in pieces of one or more tokens; a piece can be empty. To be called once. Rejects when the engine fails. */
  async *run(): AsyncGenerator<string> {
    try {
      const lease = await this.#leasing;
      try {
        yield* this.#generate(lease);
      } finally {
        lease.release();
      }
    } catch (error) {
      if (!this.#aborter.signal.aborted) throw error;
    } finally {
      this.finishReason ??= 'abort';
      const { promptTokens, cachedTokens, completionTokens, finishReason } = this;
      this.#metrics.recordEnd({ promptTokens, cachedTokens, completionTokens, finishReason });
    }
  }

  async *#generate({ sequence, cachedTokens }: Lease): AsyncGenerator<string> {
    const { promptTokens, maxTokens, temperature, topP, seed, stop, ignoresEnd, json } = this.#request;
    this.cachedTokens = cachedTokens;
    const stops = new StopStrings(json ? [...stop, json.stop] : stop);
    const decoder = new TextDecoder();
    const tokens = sequence.evaluate(promptTokens.slice(cachedTokens), {
      temperature,
      topP,
      topK: 0,
      seed,
      yieldEogToken: true,
      ...(json && { grammarEvaluationState: json.grammarEvaluationState, tokenBias: json.tokenBias }),
    });
    for await (const token of tokens) {
      if (this.#aborter.signal.aborted) return;
      this.completionTokens++;
      if (token === END_TOKEN && !ignoresEnd) this.finishReason = 'stop';
      // A token can end inside a character; the decoder keeps the first part of it.
      const { shown, stop: matched } = stops.push(decoder.decode(bytesOf(token), { stream: true }));
      if (matched !== undefined) {
        this.finishReason = 'stop';
        this.stopReason = matched === json?.stop ? null : matched;
      } else if (this.completionTokens >= maxTokens) {
        this.finishReason ??= 'length';
      }
      if (this.finishReason) {
        yield matched === undefined ? shown + stops.flush() + decoder.decode() : shown;
        return;
      }
      yield shown;
    }
  }
}
