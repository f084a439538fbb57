import { hash, randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Outcome, ServedRequest } from '../admin/requestLog.ts';
import type { Sequence } from '../engine/sequence.ts';
import type { AnswerIdentity } from '../wire/answer.ts';
import type { Usage } from '../wire/usage.ts';
import type { EngineContext } from './engineContext.ts';

/** The vLLM release whose wire format this is. */
export const VERSION = '0.32.0';

/** A checked request: its sequence, and its log entry. */
export class Generation {
  readonly sequence: Sequence;
  readonly entry: ServedRequest;
  /** The engine that answers. */
  readonly identity: AnswerIdentity;
  readonly #context: EngineContext;

  /** `idPrefix` is that of the answer's id: `chatcmpl`, `cmpl` or `embd`. Nothing runs before `start`. */
  constructor(
    req: IncomingMessage,
    { sequence, idPrefix, isStream = false }: { sequence: Sequence; idPrefix: string; isStream?: boolean | undefined },
    context: EngineContext,
  ) {
    const { engine, clock, log } = context;
    const { port, servedModelName: model, root } = engine.config;
    const { 'x-request-id': header } = req.headers;
    const requestId = typeof header === 'string' && header !== '' ? header : null;
    const receivedAt = clock.unixMs();
    this.sequence = sequence;
    this.#context = context;
    this.entry = {
      requestId,
      responseId: `${idPrefix}-${requestId ?? randomUUID().replaceAll('-', '')}`,
      port,
      model,
      isStream,
      promptTokens: sequence.options.promptTokens.length,
      cachedTokens: 0,
      completionTokens: 0,
      finishReason: null,
      state: 'running',
      receivedAt,
      endedAt: null,
    };
    this.identity = {
      id: this.entry.responseId,
      createdAtSeconds: Math.floor(receivedAt / 1_000),
      model,
      systemFingerprint: `vllm-${VERSION}-${hash('sha1', root).slice(0, 8)}`,
    };
    log.open(this.entry);
  }

  get hasEnded(): boolean {
    return this.entry.state !== 'running';
  }

  /** `onProgress` is called whenever there is output, and when it has ended. */
  start(onProgress: () => void): void {
    const { sequence } = this;
    sequence.onProgress = () => {
      this.#count();
      if (!this.hasEnded && sequence.hasEnded)
        this.#end(sequence.failure || sequence.finishReason === 'abort' ? 'failed' : 'finished');
      onProgress();
    };
    this.#context.engine.submit(sequence);
  }

  /** The client has left: nothing more is generated. */
  abort(): void {
    if (this.hasEnded) return;
    this.#context.engine.abort(this.sequence);
    this.#count();
    this.#end('aborted');
  }

  /** Answered with an error before anything was generated. */
  refuse(): void {
    this.#end('failed');
  }

  /** Returns the usage so far. Only a chat counts images, and tokens that it adds to the prefix cache. */
  usage({ imageTokens, createdCacheTokens }: { imageTokens: number; createdCacheTokens: number | null }): Usage {
    const { promptTokens, completionTokens, cachedTokens } = this.entry;
    const { reasoningTokens } = this.sequence;
    return { promptTokens, completionTokens, reasoningTokens, cachedTokens, createdCacheTokens, imageTokens };
  }

  #count(): void {
    this.entry.completionTokens = this.sequence.generated.length;
    this.entry.cachedTokens = this.sequence.cachedTokens;
  }

  /** From here on nothing in the entry changes. */
  #end(state: Outcome): void {
    const finishReason = this.sequence.finishReason ?? null;
    Object.assign(this.entry, { state, finishReason, endedAt: this.#context.clock.unixMs() });
  }
}
