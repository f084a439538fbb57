/** A video job in the memory of a replica. */
export interface VideoJob {
  id: string;
  model: string;
  prompt: string;
  /** The length in the request, or null. */
  seconds: string | null;
  size: string | null;
  width: number;
  height: number;
  fps: number;
  /** Frames of the result, which may be more than the request had. */
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

/** The records of jobs, in memory. */
export class JobRecords {
  readonly #jobs = new Map<string, VideoJob>();

  get(id: string): VideoJob | undefined {
    return this.#jobs.get(id);
  }

  /** In order of creation. */
  list(): VideoJob[] {
    return [...this.#jobs.values()];
  }

  put(job: VideoJob): void {
    this.#jobs.set(job.id, job);
  }

  update(job: VideoJob, changes: Partial<VideoJob>): void {
    Object.assign(job, changes);
  }

  remove(id: string): void {
    this.#jobs.delete(id);
  }

  forget(): void {
    this.#jobs.clear();
  }
}
