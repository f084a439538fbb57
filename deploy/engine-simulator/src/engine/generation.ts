import type { Outcome, RequestLog, ServedRequest } from '../admin/requestLog.ts';
import type { Clock } from './clock.ts';
import type { Engine } from './engine.ts';
import type { Sequence } from './sequence.ts';

export interface GenerationParts {
  /** The choices of the first prompt, then those of the second, and so on. */
  sequences: Sequence[];
  choicesPerPrompt: number;
  entry: ServedRequest;
  engine: Engine;
  clock: Clock;
  log: RequestLog;
}

/** All choices of one request, and the log entry that tells what became of them. */
export class Generation {
  readonly sequences: readonly Sequence[];
  readonly entry: ServedRequest;
  readonly #choicesPerPrompt: number;
  readonly #engine: Engine;
  readonly #clock: Clock;
  readonly #log: RequestLog;

  constructor(parts: GenerationParts) {
    this.sequences = parts.sequences;
    this.#choicesPerPrompt = parts.choicesPerPrompt;
    this.entry = parts.entry;
    this.#engine = parts.engine;
    this.#clock = parts.clock;
    this.#log = parts.log;
    this.#log.open(parts.entry);
  }

  get hasEnded(): boolean {
    return this.entry.state !== 'running';
  }

  /** Queues every choice; `onProgress` is called whenever one has output or has ended. */
  start(onProgress: (sequence: Sequence) => void): void {
    for (const sequence of this.sequences) {
      sequence.onProgress = () => {
        this.#record();
        onProgress(sequence);
      };
      this.#engine.submit(sequence);
    }
  }

  /** The client has left: nothing more is generated. */
  abort(): void {
    if (this.hasEnded) return;
    for (const sequence of this.sequences) this.#engine.abort(sequence);
    this.#count();
    this.#end('aborted');
  }

  /** Answered with an error before anything was generated. */
  refuse(): void {
    this.#end('failed');
  }

  /** Notes what has been generated, and how it ended where all of it has, or a part failed. */
  #record(): void {
    this.#count();
    if (this.hasEnded) return;
    if (this.sequences.some(({ failure }) => failure)) {
      for (const sequence of this.sequences) this.#engine.abort(sequence);
      this.#end('failed');
    } else if (this.sequences.every(({ hasEnded }) => hasEnded)) {
      this.#end(this.sequences.some(({ finishReason }) => finishReason === 'abort') ? 'failed' : 'finished');
    }
  }

  #count(): void {
    let completionTokens = 0;
    let cachedTokens = 0;
    for (const [index, sequence] of this.sequences.entries()) {
      if (index % this.#choicesPerPrompt === 0) cachedTokens += sequence.cachedTokens;
      completionTokens += sequence.generated.length;
    }
    this.entry.completionTokens = completionTokens;
    this.entry.cachedTokens = cachedTokens;
  }

  #end(state: Outcome): void {
    const finishReason = this.sequences[0]?.finishReason ?? null;
    this.#log.close(this.entry, { state, finishReason, endedAt: this.#clock.unixMs() });
  }
}
