import { engineSchema } from '../../deploy/engine-simulator/src/config.ts';
import { hashBlocks } from '../../deploy/engine-simulator/src/engine/prefixCache.ts';
import { Scheduler } from '../../deploy/engine-simulator/src/engine/scheduler.ts';
import { Sequence } from '../../deploy/engine-simulator/src/engine/sequence.ts';
import { fixedTokens } from '../../deploy/engine-simulator/src/generation/outputPlan.ts';
import { wordToken } from '../../deploy/engine-simulator/src/tokenizer/tokenizer.ts';
import { words } from '../../deploy/engine-simulator/src/tokenizer/vocabulary.ts';
import { Engine } from '../../services/model-router/src/engines/engine.ts';
import type { Trial } from '../../services/model-router/src/engines/terms/dialect.ts';
import { toEngineArguments } from '../../services/model-router/test/anEngine.ts';
import { aReport } from '../../services/model-router/test/aReport.ts';
import { seededRandom } from '../seededRandom.ts';
import type { Call } from './workload.ts';

/** An engine of 10,000 prompt tokens a second whose cache holds a part of what all tenants use. */
const CONFIG = {
  port: 1,
  servedModelNames: ['model'],
  timeModel: 'batch',
  stepMs: 20,
  stepMsPerRunning: 0.1,
  stepMsPerPrefillToken: 0.1,
  maxNumBatchedTokens: 8_192,
  maxNumSeqs: 256,
  maxModelLen: 32_768,
  numKvBlocks: 10_000,
};

const BLOCK_TOKENS = 16;
/** The router's limits by default. */
const ROOM = { calls: 256, tokens: 262_144 };
const OUTPUT_TOKEN_WEIGHT = 4;

/** The fields of a call that an engine needs. */
type EngineCall = Pick<Call, 'cacheSalt' | 'promptTokens' | 'promptBlocks' | 'answer'>;

export interface SlowDown {
  factor: number;
  what?: 'all' | 'steps';
}

/** Callbacks for a call that an engine has. */
export interface CallListener {
  onFirstToken(): void;
  onEnd(counted: { cachedTokens: number; completionTokens: number }): void;
  /** The engine was killed. Nothing follows. */
  onKilled(): void;
}

/** One engine of the engine simulator, its scheduler driven by virtual time. */
export class SimulatedEngine extends Engine {
  /** Its process is gone: nobody can connect to it. */
  isDead = false;
  /** When something is due there next. */
  nextMs = Number.POSITIVE_INFINITY;
  /** Tokens of prompts and answers under way, multiplied by the milliseconds they were. */
  tokenMs = 0;
  /** The clock of whoever runs it: trials begin when the router wants one. */
  nowMs: () => number = () => 0;
  readonly #random = seededRandom(1);
  readonly #scheduler: Scheduler;
  #tokens = 0;
  readonly #calls = new Map<Sequence, { call: EngineCall; listener: CallListener }>();

  constructor(id: string, { slowFactor = 1 }: { slowFactor?: number } = {}) {
    super(...toEngineArguments(id, { room: ROOM, nowMs: () => this.nowMs() }));
    this.#scheduler = new Scheduler(engineSchema.parse({ ...CONFIG, slowFactor }));
  }

  /** Tokens of a prompt that are in its cache now. */
  cachedTokensOf({ promptBlocks, promptTokens }: Pick<Call, 'promptBlocks' | 'promptTokens'>): number {
    return this.#scheduler.kvCache.peekPrefix(promptBlocks, promptTokens.length);
  }

  /** The work that is really left there, weighed as the router does. */
  get loadTokens(): number {
    let tokens = 0;
    for (const [sequence, { call }] of this.#calls) {
      const left = call.answer.length - sequence.generated.length;
      const hasStarted = this.#scheduler.queue.running.has(sequence);
      const queued = hasStarted ? sequence.schedule.prefillLeft : call.promptTokens.length - this.cachedTokensOf(call);
      tokens += queued + OUTPUT_TOKEN_WEIGHT * left;
    }
    return tokens;
  }

  submit(call: EngineCall, nowMs: number, listener: CallListener): void {
    const sequence = new Sequence({
      promptTokens: call.promptTokens,
      cacheSalt: call.cacheSalt,
      plan: { segments: [{ kind: 'content', tokens: fixedTokens(call.answer) }], finishReason: 'stop' },
      maxTokens: call.answer.length + 1,
      minTokens: 0,
      stop: [],
      fault: undefined,
      timeToFirstTokenMs: undefined,
      interTokenMs: undefined,
    });
    let hasToken = false;
    sequence.onProgress = () => {
      sequence.output.take();
      if (!hasToken && sequence.generated.length > 0) {
        hasToken = true;
        listener.onFirstToken();
      }
      if (!sequence.hasEnded) return;
      this.#calls.delete(sequence);
      this.#tokens -= call.promptTokens.length + call.answer.length;
      listener.onEnd({ cachedTokens: sequence.cachedTokens, completionTokens: sequence.generated.length });
    };
    this.#calls.set(sequence, { call, listener });
    this.#tokens += call.promptTokens.length + call.answer.length;
    sequence.schedule.arrivedMs = nowMs;
    this.#scheduler.queue.add(sequence);
    this.run(nowMs);
  }

  /** Its prompt is words that nobody has said. */
  override tryOut({ promptTokens: length, outputTokens, onFirstEvent, end }: Trial): void {
    const someWord = () => wordToken(Math.floor(this.#random() * words.length), { spaced: true });
    const promptTokens = Array.from({ length }, someWord);
    const call = {
      cacheSalt: 'trial',
      promptTokens,
      promptBlocks: hashBlocks(promptTokens, 'trial'),
      answer: Array.from({ length: outputTokens }, someWord),
    };
    this.submit(call, this.nowMs(), {
      onFirstToken: onFirstEvent,
      onEnd: ({ completionTokens }) => end(completionTokens),
      onKilled: () => end(undefined),
    });
  }

  /** Requests that run and wait there. */
  get requests(): { running: number; waiting: number } {
    const { running, waitingCount: waiting } = this.#scheduler.queue;
    return { running: running.size, waiting };
  }

  /** Calls that have brought no token yet. */
  get callsWithoutToken(): number {
    let calls = 0;
    for (const { generated } of this.#calls.keys()) if (generated.length === 0) calls += 1;
    return calls;
  }

  /** Ends the process: all calls are lost, and nothing happens any more. */
  kill(): void {
    this.isDead = true;
    this.nextMs = Number.POSITIVE_INFINITY;
    this.#tokens = 0;
    const lost = [...this.#calls.values()];
    this.#calls.clear();
    for (const { listener } of lost) listener.onKilled();
  }

  /** Everything there takes so many times as long from now on; or its steps alone, which answers are made of. */
  slowDown({ factor, what = 'all' }: SlowDown, nowMs: number): void {
    const knobs = engineSchema.parse(CONFIG).knobs;
    const { stepMs, stepMsPerRunning } = CONFIG;
    const slowSteps = { stepMs: stepMs * factor, stepMsPerRunning: stepMsPerRunning * factor };
    this.#scheduler.configure({ ...knobs, ...(what === 'all' ? { slowFactor: factor } : slowSteps) }, nowMs);
  }

  /** Says of itself how much its cache holds and how many requests it has, as the router reads it every few seconds. */
  say(nowMs: number): void {
    this.takeReport(aReport({ atMs: nowMs, cacheTokens: CONFIG.numKvBlocks * BLOCK_TOKENS, ...this.requests }));
  }

  /** Counts what is under way now for so long. */
  addTime(ms: number): void {
    this.tokenMs += this.#tokens * ms;
  }

  /** Takes the steps that are due. */
  run(nowMs: number): void {
    this.nextMs = this.#scheduler.run(nowMs);
  }
}
