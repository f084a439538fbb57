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
import { JobRecords, type VideoJob } from './jobRecords.ts';
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
  readonly records: JobRecords;
  /** The renders of unfinished jobs, by the jobs' ids. */
  readonly renders = new Map<string, Render>();
  #knobs: Knobs;
  #idsGiven = 0;

  constructor({ personality, model, knobs, dataDir, clock }: ReplicaOptions) {
    mkdirSync(dataDir, { recursive: true });
    this.personality = personality;
    this.model = model;
    this.clock = clock;
    this.#knobs = { ...DEFAULT_KNOBS, ...personality.knobs, ...knobs };
    const current = () => this.#knobs;
    this.log = new ReplicaLog(join(dataDir, 'log.jsonl'), clock);
    this.queue = new RenderQueue({ clock, log: this.log, knobs: current });
    this.files = new OutputFiles(join(dataDir, 'outputs'), current);
    this.records = new JobRecords(join(dataDir, 'jobs.json'), current);
  }

  get knobs(): Knobs {
    return this.#knobs;
  }

  configure(knobs: Partial<Knobs>): void {
    this.#knobs = { ...this.#knobs, ...knobs };
  }

  /** 32 hexadecimal digits. */
  newId(): string {
    const { idSeed } = this.#knobs;
    this.#idsGiven += 1;
    if (idSeed === null) return randomUUID().replaceAll('-', '');
    return createHash('sha256').update(`${idSeed} ${this.#idsGiven}`).digest('hex').slice(0, 32);
  }

  unixSeconds(): number {
    return Math.floor(this.clock.unixMs() / 1_000);
  }

  /** Puts work on the line. Throws the 503 of a line that is full. */
  render(work: Work): Render {
    this.queue.checkRoom();
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

  /** The job of an id, unless it was never there, was deleted or has expired. */
  findJob(id: string): VideoJob | undefined {
    this.#expireJobs();
    return this.records.get(id);
  }

  /** In order of creation. */
  listJobs(): VideoJob[] {
    this.#expireJobs();
    return this.records.list();
  }

  /** What a new process finds: renders are lost, ids begin anew, records are there if the disk has them. */
  restart({ records, files }: { records: 'as_stored' | 'forget' | 'keep'; files: 'keep' | 'lose' }): void {
    this.queue.loseAll();
    this.renders.clear();
    this.#idsGiven = 0;
    if (records === 'forget') this.records.forget();
    if (records === 'as_stored') this.records.reload();
    if (files === 'lose') this.files.removeAll();
  }

  #renderMsOf({ steps = 0, frames = 0, audioSeconds = 0 }: Work): number {
    const { renderBaseMs, msPerStep, msPerFrame, msPerAudioSecond } = this.#knobs;
    return renderBaseMs + steps * msPerStep + frames * msPerFrame + audioSeconds * msPerAudioSecond;
  }

  #expireJobs(): void {
    const { expireAfterMs } = this.#knobs;
    if (expireAfterMs === null) return;
    const now = this.clock.unixMs();
    for (const { id, completedAt, fileName } of this.records.list()) {
      if (completedAt === null || completedAt + expireAfterMs > now) continue;
      if (fileName) this.files.remove(fileName);
      this.records.remove(id);
    }
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
