import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import type { Clock } from '@turnpike/engine-simulator/engine/clock';
import type { Route } from '../wire/routes.ts';

/** One HTTP request, from its head to the last byte of its answer. */
export interface RequestEntry {
  number: number;
  route: Route | null;
  method: string;
  path: string;
  /** The `x-request-id` it came with. */
  requestId: string | null;
  /** The fields of the body, cut to 200 characters. A file has its name, type and length. */
  fields: Record<string, string>;
  bytesReceived: number;
  bytesServed: number;
  status: number | null;
  /** `aborted`: the client left. `broken`: a fault ended it without a whole answer. */
  state: 'open' | 'answered' | 'aborted' | 'broken';
  fault: string | null;
  receivedAt: number;
  endedAt: number | null;
}

export type RenderOperation = 'image' | 'video' | 'speech' | 'transcription' | 'translation';

/** One piece of work of the accelerator: what a provider pays for, whoever asked and whoever got it. */
export interface RenderEntry {
  id: string;
  operation: RenderOperation;
  /** The request that began it. */
  requestNumber: number;
  jobId: string | null;
  /** The prompt or the text to speak. */
  prompt: string;
  /** `lost`: the replica was restarted meanwhile. */
  state: 'waiting' | 'running' | 'finished' | 'aborted' | 'failed' | 'lost';
  /** Units of the work: images, frames, characters, seconds of audio, size. */
  units: Record<string, number>;
  /** Mark of each output, in order. Sound and broken outputs have none. */
  outputs: { bytes: number; sha256: string; mark: string | null }[];
  queuedAt: number;
  startedAt: number | null;
  endedAt: number | null;
}

type Line = { request: RequestEntry } | { render: RenderEntry };

/**
 * Requests to this replica and their outcome: the reference for every check of 'once'. Each change is one line of a file, so that
 * it outlives the process.
 */
export class ReplicaLog {
  readonly #requests = new Map<number, RequestEntry>();
  readonly #renders = new Map<string, RenderEntry>();
  readonly #file: string;
  readonly #clock: Clock;

  constructor(file: string, clock: Clock) {
    this.#file = file;
    this.#clock = clock;
    if (existsSync(file)) this.#readBack();
  }

  openRequest(entry: Omit<RequestEntry, 'number' | 'receivedAt' | 'endedAt' | 'state' | 'status'>): RequestEntry {
    const number = this.#requests.size + 1;
    const times = { receivedAt: this.#clock.unixMs(), endedAt: null };
    return this.#keepRequest({ number, ...entry, status: null, state: 'open', ...times });
  }

  openRender(entry: Omit<RenderEntry, 'queuedAt' | 'startedAt' | 'endedAt' | 'state' | 'outputs'>): RenderEntry {
    const times = { queuedAt: this.#clock.unixMs(), startedAt: null, endedAt: null };
    return this.#keepRender({ ...entry, state: 'waiting', outputs: [], ...times });
  }

  closeRequest(entry: RequestEntry, ending: Pick<RequestEntry, 'status' | 'state'>): void {
    this.#keepRequest(Object.assign(entry, ending, { endedAt: this.#clock.unixMs() }));
  }

  startRender(entry: RenderEntry): void {
    this.#keepRender(Object.assign(entry, { state: 'running', startedAt: this.#clock.unixMs() }));
  }

  endRender(entry: RenderEntry, ending: Pick<RenderEntry, 'state'>): void {
    this.#keepRender(Object.assign(entry, ending, { endedAt: this.#clock.unixMs() }));
  }

  get requests(): RequestEntry[] {
    return [...this.#requests.values()];
  }

  get renders(): RenderEntry[] {
    return [...this.#renders.values()];
  }

  #keepRequest(entry: RequestEntry): RequestEntry {
    this.#requests.set(entry.number, entry);
    this.#write({ request: entry });
    return entry;
  }

  #keepRender(entry: RenderEntry): RenderEntry {
    this.#renders.set(entry.id, entry);
    this.#write({ render: entry });
    return entry;
  }

  #write(line: Line): void {
    appendFileSync(this.#file, `${JSON.stringify(line)}\n`);
  }

  /** Work that the process before left open has ended with that process. */
  #readBack(): void {
    for (const text of readFileSync(this.#file, 'utf8').split('\n')) {
      if (!text.endsWith('}')) continue; // the last line of a process that was killed
      const line = JSON.parse(text) as Line;
      if ('request' in line) this.#requests.set(line.request.number, line.request);
      else this.#renders.set(line.render.id, line.render);
    }
    for (const entry of this.#requests.values())
      if (entry.state === 'open') this.closeRequest(entry, { status: entry.status, state: 'broken' });
    for (const entry of this.#renders.values())
      if (entry.state === 'waiting' || entry.state === 'running') this.endRender(entry, { state: 'lost' });
  }
}
