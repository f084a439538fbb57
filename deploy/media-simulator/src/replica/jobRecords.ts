import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { Knobs } from '../knobs.ts';

/** What a replica knows of a video job. */
export interface VideoJob {
  id: string;
  model: string;
  prompt: string;
  /** As it was asked for, or null. */
  seconds: string | null;
  size: string | null;
  width: number;
  height: number;
  fps: number;
  /** As they are made, which may be more than was asked for. */
  frames: number;
  status: 'queued' | 'in_progress' | 'completed' | 'failed';
  /** 0 to 100. */
  progress: number;
  /** Unix milliseconds. */
  createdAt: number;
  completedAt: number | null;
  error: { status: number; message: string } | null;
  fileName: string | null;
  renderSeconds: number | null;
}

/** The records of jobs: in memory, or on the disk as well, by the knob of the moment. */
export class JobRecords {
  readonly #file: string;
  readonly #knobs: () => Knobs;
  #jobs = new Map<string, VideoJob>();

  constructor(file: string, knobs: () => Knobs) {
    this.#file = file;
    this.#knobs = knobs;
    this.reload();
  }

  get(id: string): VideoJob | undefined {
    return this.#jobs.get(id);
  }

  /** In order of creation. */
  list(): VideoJob[] {
    return [...this.#jobs.values()];
  }

  put(job: VideoJob): void {
    this.#jobs.set(job.id, job);
    this.#save();
  }

  /** Changes a record that is still there. */
  update(job: VideoJob, changes: Partial<VideoJob>): void {
    Object.assign(job, changes);
    if (this.#jobs.get(job.id) === job) this.#save();
  }

  remove(id: string): void {
    this.#jobs.delete(id);
    this.#save();
  }

  forget(): void {
    this.#jobs.clear();
    rmSync(this.#file, { force: true });
  }

  /** Knows again what a process that starts finds: what was saved, as it was. */
  reload(): void {
    const saved =
      this.#knobs().recordStore === 'disk' && existsSync(this.#file)
        ? (JSON.parse(readFileSync(this.#file, 'utf8')) as VideoJob[])
        : [];
    this.#jobs = new Map(saved.map((job) => [job.id, job]));
  }

  #save(): void {
    if (this.#knobs().recordStore === 'disk') writeFileSync(this.#file, JSON.stringify(this.list()));
  }
}
