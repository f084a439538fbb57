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
  readonly #world: World;
  readonly #scripts: Map<string, CompiledScript>;
  process: SimulatedProcess;
  onScript: (run: ScriptRun) => void = () => {};
  onDown: () => void = () => {};

  /** `change` makes a mutant of a script. */
  constructor(
    world: World,
    { change = (_name, source) => source }: { change?: (name: string, source: string) => string } = {},
  ) {
    this.#world = world;
    this.process = world.spawn('redis');
    this.data = new RedisData({
      clockUs: () => Math.floor(world.wallClockMs(this.process) * 1_000),
      replicationId: idOf(world),
    });
    this.#scripts = new Map([...productScripts].map(([name, source]) => [name, compile(change(name, source))]));
  }

  get isUp(): boolean {
    return !this.process.isDead;
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
