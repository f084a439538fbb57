import { request } from 'undici';
import { z } from 'zod';

const TIMEOUT_MS = 10_000;
/** Quick, and slow enough that jobs overlap with what is done to them. */
const QUICK = { renderBaseMs: 100, msPerStep: 0, msPerFrame: 10, msPerAudioSecond: 20 };

/** One piece of work of a media backend, by its own log. */
export interface Render {
  /** The replica that made it, as rows of jobs name it. */
  replica: string;
  model: string;
  /** The backend's id of a video's record. */
  jobId: string | null;
  /** The text to draw or speak; empty for a transcript. */
  prompt: string;
  state: 'waiting' | 'running' | 'finished' | 'aborted' | 'failed' | 'lost';
  units: Record<string, unknown>;
  /** Marks of the outputs that have one. */
  marks: string[];
  queuedAt: number;
}

const logSchema = z.object({
  renders: z.array(
    z.object({
      jobId: z.string().nullable(),
      prompt: z.string(),
      state: z.enum(['waiting', 'running', 'finished', 'aborted', 'failed', 'lost']),
      units: z.record(z.string(), z.unknown()),
      // The simulators of a release before this may give none.
      outputs: z.array(z.object({ mark: z.string().nullish() })),
      queuedAt: z.number(),
    }),
  ),
});

const stateSchema = z.object({
  running: z.array(z.unknown()),
  waiting: z.array(z.unknown()),
  jobs: z.array(z.unknown()),
});

/** One simulated media backend, by its admin listener. Its log outlives its process. */
export class MediaBackend {
  readonly id: string;
  readonly model: string;
  readonly #adminUrl: string;

  constructor({ id, model, admin_url }: { id: string; model: string; admin_url: string }) {
    this.id = id;
    this.model = model;
    this.#adminUrl = admin_url;
  }

  /** Every render that was asked for since an instant. */
  async listRenders(sinceMs: number): Promise<Render[]> {
    const { renders } = logSchema.parse(await this.#ask('GET', 'log'));
    return renders
      .filter(({ queuedAt }) => queuedAt >= sinceMs)
      .map(({ outputs, ...render }) => ({
        ...render,
        replica: this.id,
        model: this.model,
        marks: outputs.flatMap(({ mark }) => mark ?? []),
      }));
  }

  /** Whether it renders nothing and has no record of any job. */
  async isEmpty(): Promise<boolean> {
    const { running, waiting, jobs } = stateSchema.parse(await this.#ask('GET', 'state'));
    return running.length + waiting.length + jobs.length === 0;
  }

  async configure(knobs: object): Promise<void> {
    await this.#ask('POST', 'config', knobs);
  }

  async addFaults(rules: object[]): Promise<void> {
    await this.#ask('POST', 'faults', rules);
  }

  async clearFaults(): Promise<void> {
    await this.#ask('DELETE', 'faults');
  }

  /** Cuts its connections and forgets every job: its files stay behind. */
  async restart(): Promise<void> {
    await this.#ask('POST', 'restart', { records: 'forget' });
  }

  /** Restores the state of the start. */
  async mend(): Promise<void> {
    await this.clearFaults();
    await this.configure(QUICK);
    await this.#ask('POST', 'resume');
  }

  async #ask(method: 'GET' | 'POST' | 'DELETE', what: string, content: object = {}): Promise<unknown> {
    const { statusCode, body } = await request(`${this.#adminUrl}/admin/${what}`, {
      method,
      ...(method === 'POST' && {
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(content),
      }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`the media simulator answered ${statusCode} to ${method} ${what}: ${text}`);
    return JSON.parse(text);
  }
}
