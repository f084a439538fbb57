import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '@turnpike/engine-simulator/engine/clock';
import type { Fault } from '../faults/fault.ts';
import { FaultRules } from '../faults/faultRules.ts';
import { DEFAULT_KNOBS, type Knobs } from '../knobs.ts';
import { readMark } from '../outputs/marks.ts';
import type { Personality } from '../personalities/personality.ts';
import { EngineError } from '../wire/engineError.ts';
import { JobRecords } from './jobRecords.ts';
import { OutputFiles } from './outputFiles.ts';
import { type Render, RenderQueue } from './renderQueue.ts';
import { type RenderEntry, ReplicaLog, type RequestEntry } from './replicaLog.ts';

export interface ReplicaOptions {
  personality: Personality;
  model: string;
  knobs: Partial<Knobs>;
  dataDir: string;
  clock: Clock;
}

/** Work to be rendered: what it is in the log, how much of it there is, and how its output comes about. */
export interface Work {
  request: RequestEntry;
  fault: Fault | undefined;
  operation: RenderEntry['operation'];
  prompt: string;
  units: Record<string, number>;
  jobId?: string;
  steps?: number;
  frames?: number;
  audioSeconds?: number;
  /** Called when the time has passed; what it gives is noted as the outputs. */
  produce: () => Promise<readonly Buffer[]>;
}

/** One engine process with its accelerator, its disk and its log. */
export class Replica {
  readonly personality: Personality;
  readonly model: string;
  readonly clock: Clock;
  readonly log: ReplicaLog;
  readonly faults = new FaultRules();
  readonly queue: RenderQueue;
  readonly files: OutputFiles;
  readonly records = new JobRecords();
  /** The renders of unfinished jobs, by the jobs' ids. */
  readonly renders = new Map<string, Render>();
  #knobs: Knobs;

  constructor({ personality, model, knobs, dataDir, clock }: ReplicaOptions) {
    mkdirSync(dataDir, { recursive: true });
    this.personality = personality;
    this.model = model;
    this.clock = clock;
    this.#knobs = { ...DEFAULT_KNOBS, ...personality.knobs, ...knobs };
    const current = () => this.#knobs;
    this.log = new ReplicaLog(join(dataDir, 'log.jsonl'), clock);
    this.queue = new RenderQueue({ clock, log: this.log, knobs: current });
    this.files = new OutputFiles(join(dataDir, 'outputs'));
  }

  get knobs(): Knobs {
    return this.#knobs;
  }

  configure(knobs: Partial<Knobs>): void {
    this.#knobs = { ...this.#knobs, ...knobs };
  }

  /** 32 hexadecimal digits. */
  newId(): string {
    return randomUUID().replaceAll('-', '');
  }

  unixSeconds(): number {
    return Math.floor(this.clock.unixMs() / 1_000);
  }

  /** Puts work on the line. */
  render(work: Work): Render {
    const { request, fault, operation, prompt, units, jobId = null } = work;
    const entry = this.log.openRender({
      id: `render_${this.log.renders.length + 1}`,
      operation,
      requestNumber: request.number,
      jobId,
      prompt,
      units,
    });
    return this.queue.add({
      entry,
      renderMs: fault?.kind === 'stuck' ? Number.POSITIVE_INFINITY : this.#renderMsOf(work),
      produce: async () => {
        failByFault(work);
        const outputs = await work.produce();
        entry.outputs = await Promise.all(outputs.map((bytes) => describeOutput(bytes, operation)));
      },
    });
  }

  /** Finds what a new process does: renders are lost, and records unless they are kept. */
  restart({ records, files }: { records: 'forget' | 'keep'; files: 'keep' | 'lose' }): void {
    this.queue.loseAll();
    this.renders.clear();
    if (records === 'forget') this.records.forget();
    if (files === 'lose') this.files.removeAll();
  }

  #renderMsOf({ steps = 0, frames = 0, audioSeconds = 0 }: Work): number {
    const { renderBaseMs, msPerStep, msPerFrame, msPerAudioSecond } = this.#knobs;
    return renderBaseMs + steps * msPerStep + frames * msPerFrame + audioSeconds * msPerAudioSecond;
  }
}

function failByFault({ fault, prompt }: Work): void {
  if (fault?.kind === 'render_fails')
    throw new EngineError(500, 'CUDA error: an illegal memory access was encountered');
  if (fault?.kind === 'render_fails_with_prompt')
    throw new EngineError(500, `Failed to generate for prompt: '${prompt}'`);
  if (fault?.kind === 'render_refuses_prompt')
    throw new EngineError(400, `The prompt was rejected by the safety checker: '${prompt}'`);
}

const describeOutput = async (
  bytes: Buffer,
  operation: RenderEntry['operation'],
): Promise<RenderEntry['outputs'][number]> => ({
  bytes: bytes.length,
  sha256: createHash('sha256').update(bytes).digest('hex'),
  mark: operation === 'image' || operation === 'video' ? ((await readMark(bytes)) ?? null) : null,
});
