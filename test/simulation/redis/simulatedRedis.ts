import { type CompiledScript, compileLua } from '../lua/compileLua.ts';
import type { SimulatedProcess, World } from '../world/world.ts';
import { productScripts } from './productScripts.ts';
import { RedisData, type Reply } from './redisData.ts';
import { runScript } from './runScript.ts';

const compiled = new Map<string, CompiledScript>();

function compile(source: string): CompiledScript {
  const known = compiled.get(source) ?? compileLua(source);
  compiled.set(source, known);
  return known;
}

/** A script that has run. */
export interface ScriptRun {
  name: string;
  keys: string[];
  args: string[];
  reply: Reply;
}

const idOf = (world: World): string =>
  Array.from({ length: 40 }, () => world.random.between(0, 15).toString(16)).join('');

/**
 * A Redis that can be killed, come back from a file that lacks its last moments or empty, be failed over, and be frozen.
 * Tells `onScript` of every script of the product that has run.
 */
export class SimulatedRedis {
  readonly data: RedisData;
  /** Makes a mutant of a script. */
  readonly #change: (name: string, source: string) => string;
  readonly #world: World;
  readonly #scripts: Map<string, CompiledScript>;
  process: SimulatedProcess;
  onScript: (run: ScriptRun) => void = () => {};
  onDown: () => void = () => {};

  /** `change` makes a mutant of a script. `copyOf` is a primary whose replica this was, and that this takes over from, less its tail. */
  constructor(
    world: World,
    {
      change = (_name, source) => source,
      copyOf,
    }: {
      change?: (name: string, source: string) => string;
      copyOf?: { data: RedisData; until: number; skewMs: number };
    } = {},
  ) {
    this.#world = world;
    this.process = world.spawn('redis', copyOf?.skewMs);
    const options = {
      clockUs: () => Math.floor(world.wallClockMs(this.process) * 1_000),
      replicationId: idOf(world),
    };
    this.data = copyOf ? copyOf.data.copyUntil(copyOf.until, options) : new RedisData(options);
    this.#change = change;
    this.#scripts = new Map([...productScripts].map(([name, source]) => [name, compile(change(name, source))]));
  }

  get isUp(): boolean {
    return !this.process.isDead;
  }

  /** A replica of this one is promoted that lacks the last moments; this one becomes its replica, and goes on answering. */
  demote({ lostMs, skewMs }: { lostMs: number; skewMs: number }): SimulatedRedis {
    this.#world.note(`Redis is demoted; what takes over lacks its last ${lostMs} ms`);
    const copyOf = { data: this.data, until: this.#world.now - lostMs, skewMs };
    const promoted = new SimulatedRedis(this.#world, { change: this.#change, copyOf });
    this.data.isReplica = true;
    return promoted;
  }

  run(command: string, args: string[]): Reply {
    this.data.beginStep(this.#world.now);
    return this.data.run(command, args);
  }

  runScript(name: string, keys: string[], args: string[]): Reply {
    const script = this.#scripts.get(name);
    if (!script) throw new Error(`script ${name} is not known here`);
    this.data.beginStep(this.#world.now);
    const reply = runScript(this.data, script, keys, args);
    this.onScript({ name, keys, args, reply });
    return reply;
  }

  /** Ends as kill -9 does. */
  kill(): void {
    this.#world.note('Redis is killed');
    this.process.isDead = true;
    this.onDown();
  }

  /** Comes back, with what it knew up to `lostMs` ago, or with nothing; its clock may be another machine's. */
  start({ lostMs, isEmpty, skewMs }: { lostMs: number; isEmpty: boolean; skewMs: number }): void {
    this.#world.note(
      `Redis comes back ${isEmpty ? 'empty' : `without its last ${lostMs} ms`}, its clock ${skewMs} ms off`,
    );
    if (isEmpty) this.data.clear();
    else this.data.loseAfter(this.#world.now - lostMs);
    this.process = this.#world.spawn('redis', skewMs);
    this.data.replicationId = idOf(this.#world);
  }
}
