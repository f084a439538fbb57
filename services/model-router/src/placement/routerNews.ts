import { z } from 'zod';
import type { Engine } from '../engines/engine.ts';
import type { EngineLoad, Work } from '../engines/engineLoad.ts';
import {
  LONGEST_TELL_MS,
  MAX_TOLD_BLOCKS,
  ROUTER_SILENT_MS,
  TELL_AGAIN_MS,
  TELL_MS,
  TELL_MS_PER_ROUTER,
} from './limits.ts';

/** A router's news for the others of its region. */
const newsSchema = z.object({
  /** The router that tells. */
  router: z.string(),
  /** Its work by engine, tokens of prompts and of answers: all of it, so that nothing has to arrive twice or in order. */
  work: z.record(z.string(), z.tuple([z.number(), z.number()])),
  /** Prompts that it has sent since it told last: the engine, and the hashes of its blocks as base64 of 32 bits each, little-endian. */
  placed: z.array(z.tuple([z.string(), z.string()])),
});

/** An engine that news may be of. Several may have one id, at other addresses. */
export type NewsEngine = Pick<Engine, 'id' | 'origin' | 'load'>;

interface OtherRouter {
  heardAtMs: number;
  /** The amount of its work, by the load that it was added to. */
  work: Map<EngineLoad, Work>;
}

const NOTHING: Work = { queuedTokens: 0, answerTokens: 0 };

/** The name of an engine on every router. */
const nameOf = ({ id, origin }: NewsEngine): string => `${id} ${origin}`;

/**
 * A router's gossip: the work that each has on every engine, and which engine was sent which prompt. Any of it may be lost. Work
 * is published whole each time, and an unknown prompt costs a worse choice.
 */
export class RouterNews {
  readonly #router: string;
  readonly #engines: () => Iterable<NewsEngine>;
  readonly #nowMs: () => number;
  readonly #others = new Map<string, OtherRouter>();
  #placed: { load: EngineLoad; hashes: readonly number[] }[] = [];
  #placedBlocks = 0;
  #toldWork = '';
  #toldAtMs = Number.NEGATIVE_INFINITY;

  /** `router` is a name that no other one has. */
  constructor(
    router: string,
    { engines, nowMs = () => performance.now() }: { engines: () => Iterable<NewsEngine>; nowMs?: () => number },
  ) {
    this.#router = router;
    this.#engines = engines;
    this.#nowMs = nowMs;
  }

  /** How many other routers were heard lately. */
  get others(): number {
    return this.#others.size;
  }

  /** How long this router waits before it tells something again. */
  get pauseMs(): number {
    return Math.min(Math.max(TELL_MS, TELL_MS_PER_ROUTER * this.others), LONGEST_TELL_MS);
  }

  /** This router has sent a prompt to the engine of a load. */
  placed(load: EngineLoad, hashes: readonly number[]): void {
    if (hashes.length === 0 || this.#placedBlocks + hashes.length > MAX_TOLD_BLOCKS) return;
    this.#placed.push({ load, hashes });
    this.#placedBlocks += hashes.length;
  }

  /** Returns the news to publish now; undefined if nothing is new and all was published not long ago. */
  tell(): string | undefined {
    const names = new Map<EngineLoad, string>();
    const work: [string, [number, number]][] = [];
    for (const engine of this.#engines()) {
      names.set(engine.load, nameOf(engine));
      const { queuedTokens, answerTokens } = engine.load.work;
      // A sum that came and went may leave a little beside 0.
      if (queuedTokens + answerTokens < 1) continue;
      work.push([nameOf(engine), [Math.round(queuedTokens), Math.round(answerTokens)]]);
    }
    const workNow = JSON.stringify(Object.fromEntries(work));
    const isKnown = workNow === this.#toldWork && this.#placed.length === 0;
    if (isKnown && this.#nowMs() - this.#toldAtMs < TELL_AGAIN_MS) return undefined;
    const placed = this.#placed.flatMap(({ load, hashes }) => {
      const name = names.get(load);
      return name === undefined ? [] : [[name, toBase64(hashes)]];
    });
    this.#placed = [];
    this.#placedBlocks = 0;
    this.#toldWork = workNow;
    this.#toldAtMs = this.#nowMs();
    return `{"router":${JSON.stringify(this.#router)},"work":${workNow},"placed":${JSON.stringify(placed)}}`;
  }

  /** Notes that the latest news was not published, so that work is published again at once. */
  notTold(): void {
    this.#toldAtMs = Number.NEGATIVE_INFINITY;
  }

  /** Takes over what a router told, and says whether that was this one itself, which is no news. Throws where it cannot be read. */
  hear(text: string): { isOwn: boolean } {
    const { router, work, placed } = newsSchema.parse(JSON.parse(text));
    if (router === this.#router) return { isOwn: true };
    const loads = new Map(Array.from(this.#engines(), (engine) => [nameOf(engine), engine.load]));
    const other = this.#others.get(router) ?? { heardAtMs: 0, work: new Map() };
    this.#others.set(router, other);
    other.heardAtMs = this.#nowMs();
    const now = new Map<EngineLoad, Work>();
    for (const [name, [queuedTokens, answerTokens]] of Object.entries(work)) {
      const load = loads.get(name);
      if (load) now.set(load, { queuedTokens, answerTokens });
    }
    count(now, other.work);
    other.work = now;
    for (const [name, base64] of placed) loads.get(name)?.hearPlaced(fromBase64(base64));
    return { isOwn: false };
  }

  /** Routers that say nothing any more have no work any more. */
  forgetSilent(): void {
    const sinceMs = this.#nowMs() - ROUTER_SILENT_MS;
    for (const [router, { heardAtMs, work }] of this.#others) {
      if (heardAtMs > sinceMs) continue;
      count(new Map(), work);
      this.#others.delete(router);
    }
  }
}

/** Counts a router's work in place of what it was before. */
function count(now: ReadonlyMap<EngineLoad, Work>, before: ReadonlyMap<EngineLoad, Work>): void {
  for (const [load, work] of now) load.hearWork(work, before.get(load) ?? NOTHING);
  for (const [load, work] of before) if (!now.has(load)) load.hearWork(NOTHING, work);
}

const HASH_BYTES = 4;

function toBase64(hashes: readonly number[]): string {
  const bytes = Buffer.allocUnsafe(hashes.length * HASH_BYTES);
  for (const [at, hash] of hashes.entries()) bytes.writeUInt32LE(hash, at * HASH_BYTES);
  return bytes.toString('base64');
}

function fromBase64(base64: string): number[] {
  const bytes = Buffer.from(base64, 'base64');
  const hashes: number[] = [];
  for (let at = 0; at + HASH_BYTES <= bytes.length; at += HASH_BYTES) hashes.push(bytes.readUInt32LE(at));
  return hashes;
}
