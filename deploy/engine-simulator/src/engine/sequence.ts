import { type Fault, interruptsGeneration } from '../faults/fault.ts';
import type { OutputPlan } from '../generation/outputPlan.ts';
import { StopStrings } from '../generation/stopStrings.ts';
import { IncrementalDecoder } from '../tokenizer/incrementalDecoder.ts';
import { specialTokens, type TokenId } from '../tokenizer/tokenizer.ts';
import { OutputQueue } from './outputQueue.ts';

/** `error` is a failure the client sees as one; the others are finish reasons of the wire format. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'abort' | 'error';

export interface SequenceOptions {
  promptTokens: readonly TokenId[];
  /** Only requests of the same salt share cached blocks. */
  cacheSalt: string;
  plan: OutputPlan;
  maxTokens: number;
  /** No stop string ends the output before this many tokens. */
  minTokens: number;
  stop: readonly string[];
  fault: Fault | undefined;
  /** Times that replace the engine's own for this request. */
  timeToFirstTokenMs: number | undefined;
  interTokenMs: number | undefined;
}

/** One answer being generated: its output so far, how it ended, and what the engine's scheduler notes about it. */
export class Sequence {
  readonly options: SequenceOptions;
  readonly output = new OutputQueue();
  /** Tokens generated, the stop token included: what is billed. */
  readonly generated: TokenId[] = [];
  reasoningTokens = 0;
  finishReason: FinishReason | undefined;
  stopReason: string | null = null;
  /** The injected fault that ended it, if one did. */
  failure: Fault | undefined;
  /** Leading prompt tokens found in the prefix cache; 0 until it is scheduled. */
  cachedTokens = 0;
  /** The scheduler's notes; `dueMs` is when the next token is. */
  readonly schedule = {
    arrivedMs: 0,
    dueMs: 0,
    /** Prompt tokens not computed yet; only the batch model counts them down. */
    prefillLeft: 0,
    heldBlocks: 0,
    promptBlocks: [] as number[],
  };
  /** Called after every step that made output or ended it. */
  onProgress: () => void = () => {};
  readonly #decoder = new IncrementalDecoder();
  readonly #stops: StopStrings;
  #segment = 0;
  #at = 0;

  constructor(options: SequenceOptions) {
    this.options = options;
    this.#stops = new StopStrings(options.stop);
  }

  get hasEnded(): boolean {
    return this.finishReason !== undefined;
  }

  /** Generates one token, or lets the injected fault happen. Nothing is generated after the end. */
  generate(): void {
    const { plan, maxTokens, fault } = this.options;
    const segment = plan.segments[this.#segment];
    if (fault && this.#isDue(fault, segment === undefined)) {
      this.#strike(fault);
      return;
    }
    if (!segment) {
      if (!plan.isPooled) this.generated.push(specialTokens.messageEnd);
      this.#finish(plan.finishReason);
      return;
    }
    const token = segment.tokens.at(this.#at);
    this.#at += 1;
    this.generated.push(token);
    if (segment.kind === 'reasoning') this.reasoningTokens += 1;
    if (segment.kind === 'tool_name') this.#showToolName(segment);
    else this.#show(segment.kind, this.#decoder.push(token), 'toolIndex' in segment ? segment.toolIndex : undefined);
    if (this.#at === segment.tokens.length && !this.hasEnded) this.#endSegment();
    if (!this.hasEnded && this.generated.length >= maxTokens) this.#finish('length');
  }

  /** Takes a token of content that was made elsewhere, with the text that it completes; `isLast` for the stop token. */
  take(token: TokenId, text: string, { isLast }: { isLast: boolean }): void {
    this.generated.push(token);
    this.#show('content', text, undefined);
    if (this.hasEnded) return;
    if (isLast) this.#finish('stop');
    else if (this.generated.length >= this.options.maxTokens) this.#finish('length');
  }

  /** Ends the sequence at its current token, as after its client has left. */
  abort(): void {
    this.finishReason = 'abort';
  }

  /** Ends the sequence with a failure of the engine, which an incomplete answer then reports. */
  fail(fault: Fault): void {
    this.failure = fault;
    this.#finish('error');
  }

  #isDue(fault: Fault, isLast: boolean): boolean {
    if (!interruptsGeneration(fault)) return false;
    const count = this.generated.length;
    return count >= fault.afterTokens || isLast || count === this.options.maxTokens - 1;
  }

  #strike(fault: Fault): void {
    switch (fault.kind) {
      case 'stall':
        this.schedule.dueMs = Number.POSITIVE_INFINITY;
        return;
      case 'abort':
        this.#finish('abort');
        return;
      default:
        this.fail(fault);
    }
  }

  #show(kind: 'reasoning' | 'content' | 'tool_arguments', text: string, toolIndex: number | undefined): void {
    if (kind === 'tool_arguments') {
      this.#push(kind, text, toolIndex);
      return;
    }
    const isArmed = this.generated.length > this.options.minTokens;
    const shown = this.#stops.push(text, { isArmed });
    this.#push(kind, shown.text, undefined);
    if (shown.stop !== undefined) {
      this.stopReason = shown.stop;
      this.finishReason = 'stop';
    }
  }

  #showToolName(segment: { toolIndex: number; toolCallId: string; name: string; tokens: { length: number } }): void {
    if (this.#at < segment.tokens.length) return;
    const { toolIndex, toolCallId, name } = segment;
    const completionTokens = this.generated.length;
    this.output.push({ kind: 'tool_name', text: name, toolIndex, toolCallId, completionTokens });
  }

  #endSegment(): void {
    this.#flushHeldText();
    this.#segment += 1;
    this.#at = 0;
  }

  #finish(reason: FinishReason): void {
    this.#flushHeldText();
    this.finishReason = reason;
  }

  #flushHeldText(): void {
    const segment = this.options.plan.segments[this.#segment];
    if (segment?.kind === 'reasoning' || segment?.kind === 'content') {
      this.#push(segment.kind, this.#stops.flush(), undefined);
    }
  }

  #push(kind: 'reasoning' | 'content' | 'tool_arguments', text: string, toolIndex: number | undefined): void {
    if (text === '') return;
    const completionTokens = this.generated.length;
    this.output.push({ kind, text, completionTokens, ...(toolIndex !== undefined && { toolIndex }) });
  }
}
