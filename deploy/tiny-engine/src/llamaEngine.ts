import { randomInt } from 'node:crypto';
import { type EngineConfig, engineSchema } from '@turnpike/engine-simulator/config';
import { EngineMetrics } from '@turnpike/engine-simulator/engine/engineMetrics';
import { Sequence } from '@turnpike/engine-simulator/engine/sequence';
import { fixedTokens } from '@turnpike/engine-simulator/generation/outputPlan';
import type { AskedFor, ServingEngine } from '@turnpike/engine-simulator/http/engineContext';
import { badRequest } from '@turnpike/engine-simulator/wire/engineError';
import { type SamplingRequest, stopStrings } from '@turnpike/engine-simulator/wire/samplingFields';
import type { Logger } from '@turnpike/logging/createLogger';
import type { LlamaContextSequence, Token } from 'node-llama-cpp';
import { createJsonConstraint, JSON_END, type JsonConstraint } from './jsonConstraint.ts';
import type { LoadedLlama } from './loadLlama.ts';
import { MAX_MODEL_LEN } from './model/tinyModel.ts';
import { bytesOf, controlToken } from './model/vocabulary.ts';

/** The one model's name. */
export const MODEL = 'tiny-random-llama';
/** Requests that wait for a slot; the next one is refused. */
const MAX_WAITING = 64;
const BLOCK_TOKENS = 16;
const END_TOKEN = controlToken('<|end|>');

/** How the tokens of one request are drawn. */
interface Sampling {
  /** 0 takes the likeliest token always. */
  temperature: number;
  topP: number;
  /** Unsigned, 32 bits. */
  seed: number;
  /** Goes on after the token that ends an answer, up to the most that was asked for. */
  ignoresEnd: boolean;
  json: JsonConstraint | undefined;
}

/** One of llama.cpp's sequences, and what it keeps of the last request that it was lent to. */
interface Slot {
  llama: LlamaContextSequence;
  isFree: boolean;
  cacheSalt: string;
  /** Order of use: the slot that was let go longest ago is the first to be overwritten. */
  releasedAt: number;
}

/** A real engine behind the simulator's HTTP layer: llama.cpp makes the tokens, in as many requests at once as there are slots. */
export class LlamaEngine implements ServingEngine {
  readonly config: EngineConfig;
  readonly metrics = new EngineMetrics();
  readonly isAsleep = false;
  readonly #loaded: LoadedLlama;
  readonly #log: Logger;
  readonly #slots: Slot[];
  readonly #waiting = new Set<Sequence>();
  readonly #samplings = new WeakMap<Sequence, Sampling>();
  #releases = 0;

  constructor(loaded: LoadedLlama, { port, log }: { port: number; log: Logger }) {
    this.#loaded = loaded;
    this.#log = log;
    this.#slots = loaded.sequences.map((llama) => ({ llama, isFree: true, cacheSalt: '', releasedAt: 0 }));
    const { length } = this.#slots;
    this.config = engineSchema.parse({
      port,
      servedModelNames: [MODEL],
      maxModelLen: MAX_MODEL_LEN,
      maxImagesPerPrompt: 0,
      numKvBlocks: (length * MAX_MODEL_LEN) / BLOCK_TOKENS,
      queueCap: length + MAX_WAITING,
    });
  }

  get knobs(): EngineConfig['knobs'] {
    return this.config.knobs;
  }

  get runningCount(): number {
    return this.#slots.filter(({ isFree }) => !isFree).length;
  }

  get waitingCount(): number {
    return this.#waiting.size;
  }

  get kvCacheUsage(): number {
    const used = this.#slots.reduce((sum, { llama }) => sum + llama.nextTokenIndex, 0);
    return used / (this.#slots.length * MAX_MODEL_LEN);
  }

  /** Throws a 400 for what this model cannot: tools, and a schema that no grammar can be made of. */
  async plan(asked: AskedFor): Promise<Sequence> {
    const { promptTokens, maxTokens } = asked;
    const request: SamplingRequest = asked.task === 'embedding' ? {} : asked.request;
    if (asked.task === 'chat' && asked.request.tools && asked.request.tool_choice !== 'none')
      throw badRequest(
        '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
        'tools',
      );
    const format = asked.task === 'chat' ? asked.request.response_format : undefined;
    const json = await createJsonConstraint(format, this.#loaded);
    const sequence = new Sequence({
      promptTokens,
      cacheSalt: request.cache_salt ?? '',
      // Nothing is planned: what the model says is content, however long it gets.
      plan: { segments: [{ kind: 'content', tokens: fixedTokens([]) }], finishReason: 'stop' },
      maxTokens,
      minTokens: 0,
      stop: [...stopStrings(request), ...(json ? [JSON_END] : [])],
      fault: undefined,
      timeToFirstTokenMs: undefined,
      interTokenMs: undefined,
    });
    const { temperature = 1, top_p: topP = 1, seed = randomInt(2 ** 32), ignore_eos: ignoresEnd = false } = request;
    this.#samplings.set(sequence, {
      temperature,
      topP,
      seed: Number(BigInt.asUintN(32, BigInt(seed))),
      ignoresEnd,
      json,
    });
    return sequence;
  }

  submit(sequence: Sequence): void {
    const slot = this.#findBestSlot(sequence);
    if (slot) void this.#run(sequence, slot);
    else this.#waiting.add(sequence);
  }

  /** One that runs is gone before its next token. */
  abort(sequence: Sequence): void {
    if (sequence.hasEnded) return;
    sequence.abort();
    if (this.#waiting.delete(sequence)) this.metrics.countEnd(sequence);
  }

  /** The free slot that shares the longest prefix. */
  #findBestSlot(sequence: Sequence): Slot | undefined {
    const [best] = this.#slots
      .filter(({ isFree }) => isFree)
      .map((slot) => ({ slot, cached: countCached(slot, sequence) }))
      .sort((a, b) => b.cached - a.cached || a.slot.releasedAt - b.slot.releasedAt);
    return best?.slot;
  }

  async #run(sequence: Sequence, slot: Slot): Promise<void> {
    slot.isFree = false;
    try {
      await this.#generate(sequence, slot);
    } catch (error) {
      this.#log.error({ err: error }, 'generation failed');
      // To a client this is what the simulator makes of an engine's failure: a 500, or an error event.
      sequence.fail({ kind: 'error_event', afterTokens: 0 });
    }
    this.metrics.countEnd(sequence);
    sequence.onProgress();
    slot.isFree = true;
    slot.releasedAt = ++this.#releases;
    const [next] = this.#waiting;
    if (!next) return;
    this.#waiting.delete(next);
    void this.#run(next, slot);
  }

  async #generate(sequence: Sequence, slot: Slot): Promise<void> {
    const sampling = this.#samplings.get(sequence);
    if (!sampling) throw new Error('a sequence that this engine did not plan');
    const { ignoresEnd, json, temperature, topP, seed } = sampling;
    const cachedTokens = await prepare(slot, sequence);
    sequence.cachedTokens = cachedTokens;
    this.metrics.countScheduled(sequence);
    // A token can end inside a character; the decoder keeps the first part of it.
    const decoder = new TextDecoder();
    const tokens = slot.llama.evaluate(sequence.options.promptTokens.slice(cachedTokens) as Token[], {
      temperature,
      topP,
      topK: 0,
      seed,
      yieldEogToken: true,
      ...(json && { grammarEvaluationState: json.grammarEvaluationState, tokenBias: json.tokenBias }),
    });
    for await (const token of tokens) {
      if (sequence.hasEnded) return; // its client has left
      const text = decoder.decode(bytesOf(token), { stream: true });
      sequence.take(token, text, { isLast: token === END_TOKEN && !ignoresEnd });
      // What the grammar ends with is no stop string of the client's.
      if (sequence.stopReason === JSON_END) sequence.stopReason = null;
      this.metrics.countToken(sequence);
      if (sequence.hasEnded) return;
      sequence.onProgress();
    }
  }
}

/** At least the last prompt token is computed anew: the first output token comes from it. */
const reusable = ({ options }: Sequence): Token[] => options.promptTokens.slice(0, -1) as Token[];

const countCached = ({ llama, cacheSalt }: Slot, sequence: Sequence): number =>
  cacheSalt === sequence.options.cacheSalt ? llama.compareContextTokens(reusable(sequence)).firstDifferentIndex : 0;

/** Forgets everything behind the common prefix, and says how long that is. */
async function prepare(slot: Slot, sequence: Sequence): Promise<number> {
  if (slot.cacheSalt !== sequence.options.cacheSalt) await slot.llama.clearHistory();
  slot.cacheSalt = sequence.options.cacheSalt;
  await slot.llama.adaptStateToTokens(reusable(sequence), false);
  return slot.llama.nextTokenIndex;
}
