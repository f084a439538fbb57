import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Agent } from 'undici';
import type { MediaModels } from '../../stack/mediaModels.ts';
import type { Random } from '../random.ts';
import type { LoadKey } from '../startLoad.ts';
import { MEDIA_KINDS, type MediaKind, type MediaRecord } from './mediaRecord.ts';
import { planMedia, type Retries } from './planMedia.ts';
import { sendMedia } from './sendMedia.ts';

const TICK_MS = 20;
const CALLS_PER_SECOND = 8;
const OPEN_AT_MOST = 40;
/** From a job's creation to its end, at most, whatever is broken meanwhile. */
const PATIENCE_MS = 150_000;

export interface MediaLoadOptions {
  calls: number;
  /** All kinds in turn where it is not given. */
  kinds?: readonly MediaKind[];
  perSecond?: number;
  openAtMost?: number;
  patienceMs?: number;
  /** How long after its creation a job is deleted; undefined where it is not. */
  deleteAfterMs?: (random: Random) => number | undefined;
  /** How clients send a creation again; they do not where it is not given. */
  retries?: Retries;
  /** Prompt of all calls. Without it each call has a prompt of its own. */
  prompt?: string;
  /** How long each clip lasts; drawn where it is not given. */
  seconds?: number;
  /** A text to be found again wherever something is kept of what clients say. */
  canary?: string;
  keys?: readonly LoadKey[];
}

/** Media calls under way. */
export interface MediaLoad {
  readonly records: readonly MediaRecord[];
  readonly sent: number;
  readonly open: number;
  /** Resolves when so many have been sent. */
  untilSent(count: number): Promise<void>;
  /** Resolves when all have ended. */
  done: Promise<readonly MediaRecord[]>;
}

/** Sends media calls of all kinds in turn, and follows their jobs. */
export function startMedia(
  {
    baseUrl,
    models,
    keys: allKeys,
    random,
  }: { baseUrl: string; models: MediaModels; keys: readonly LoadKey[]; random: Random },
  {
    calls,
    kinds = MEDIA_KINDS,
    perSecond = CALLS_PER_SECOND,
    openAtMost = OPEN_AT_MOST,
    patienceMs = PATIENCE_MS,
    deleteAfterMs,
    retries,
    prompt,
    seconds,
    canary,
    keys = allKeys,
  }: MediaLoadOptions,
): MediaLoad {
  const dispatcher = new Agent({ connections: null, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
  const name = randomUUID().slice(0, 8);
  const records: MediaRecord[] = [];
  const running = new Set<Promise<void>>();
  let sent = 0;

  function send(): void {
    const kind = kinds[sent % kinds.length] ?? 'video';
    const { apiKey = '' } = keys[random.between(0, keys.length - 1)] ?? {};
    const plan = planMedia(kind, {
      ...{ models, random, apiKey, canary, seconds },
      prompt: prompt ?? `prompt ${name} ${sent}`,
    });
    sent += 1;
    const call = sendMedia(
      { ...plan, retries, deleteAfterMs: deleteAfterMs?.(random) },
      { baseUrl, dispatcher, patienceMs },
    ).then((record) => {
      records.push(record);
      running.delete(call);
    });
    running.add(call);
  }

  async function run(): Promise<readonly MediaRecord[]> {
    const startedAt = performance.now();
    for (let slot = 0; sent < calls; ) {
      const due = Math.floor(((performance.now() - startedAt) / 1_000) * perSecond) + 1;
      for (; slot < due && sent < calls && running.size < openAtMost; slot += 1) send();
      // A late slot is not made up for later.
      slot = Math.max(slot, due);
      await pause(TICK_MS);
    }
    while (running.size > 0) await Promise.all(running);
    await dispatcher.destroy();
    return records;
  }

  return {
    records,
    get sent() {
      return sent;
    },
    get open() {
      return running.size;
    },
    async untilSent(count) {
      while (sent < Math.min(count, calls)) await pause(TICK_MS);
    },
    done: run(),
  };
}
