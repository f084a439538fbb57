import { EventEmitter } from 'node:events';
import type { Redis } from 'ioredis';
import type { SimulatedProcess, World } from '../world/world.ts';
import type { Reply } from './redisData.ts';
import type { SimulatedRedis } from './simulatedRedis.ts';

/** The way between one router and Redis. */
export interface RedisLink {
  /** The target of its address; an open connection stays where it is. */
  server: SimulatedRedis;
  isCut: boolean;
  /** Longest one direction takes, ms. */
  slownessMs: number;
}

interface Pending {
  settle(error: Error | undefined, reply?: Reply): void;
}

const TIMEOUT_MS = 250;
const RECONNECT_MS = 100;

/**
 * One router's connection, with the interface of ioredis as `connectRedis` configures it. Commands keep their order, fail after
 * 250 ms or with the connection, and are never sent twice. A command that failed may have run, or may still run.
 */
export class SimulatedRedisClient extends EventEmitter {
  status: 'ready' | 'reconnecting' = 'reconnecting';
  readonly #world: World;
  /** The server of its connection. */
  #server: SimulatedRedis;
  readonly #owner: SimulatedProcess;
  readonly #link: RedisLink;
  #pending = new Set<Pending>();
  #connection = 0;
  /** Nothing overtakes on the way there, nor on the way back. */
  #arrivesAt = 0;
  #answersAt = 0;

  constructor(world: World, { owner, link }: { owner: SimulatedProcess; link: RedisLink }) {
    super();
    this.#world = world;
    this.#server = link.server;
    this.#owner = owner;
    this.#link = link;
    this.#reconnect();
  }

  #reconnect(): void {
    this.#world.schedule(
      RECONNECT_MS * (0.5 + this.#world.random.share()),
      () => {
        this.#server = this.#link.server;
        if (!this.#server.isUp || this.#server.process.frozenUntil > this.#world.now || this.#link.isCut)
          return this.#reconnect();
        this.status = 'ready';
        this.emit('ready');
      },
      this.#owner,
    );
  }

  /** The connection breaks: what is under way may still arrive, and nothing is answered. */
  break(): void {
    if (this.status !== 'ready') return;
    this.status = 'reconnecting';
    this.#connection += 1;
    const pending = this.#pending;
    this.#pending = new Set();
    this.#world.schedule(
      this.#world.random.share() * 5,
      () => {
        for (const { settle } of pending) settle(new Error('Connection is closed.'));
        this.emit('close');
        this.#reconnect();
      },
      this.#owner,
    );
  }

  get server(): SimulatedRedis {
    return this.#server;
  }

  /** Acts like ioredis when told to connect anew. */
  disconnect(): void {
    this.break();
  }

  #delayMs(): number {
    return 0.05 + this.#world.random.share() * this.#link.slownessMs;
  }

  #send(execute: (server: SimulatedRedis) => Reply): Promise<Reply> {
    const world = this.#world;
    const server = this.#server;
    if (this.status !== 'ready')
      return Promise.reject(new Error("Stream isn't writeable and enableOfflineQueue options is false"));
    return new Promise((resolve, reject) => {
      const settle = (error: Error | undefined, reply: Reply = null): void => {
        timeout.isCancelled = true;
        this.#pending.delete(pending);
        if (error) reject(error);
        else resolve(reply);
      };
      const pending: Pending = { settle };
      this.#pending.add(pending);
      const timeout = world.scheduleTimer(TIMEOUT_MS, () => settle(new Error('Command timed out')), this.#owner);
      const { process } = server;
      const connection = this.#connection;
      this.#arrivesAt = Math.max(this.#arrivesAt, world.now + this.#delayMs());
      world.schedule(
        this.#arrivesAt - world.now,
        () => this.#arrive(() => execute(server), settle, connection),
        process,
      );
    });
  }

  #arrive(execute: () => Reply, settle: Pending['settle'], connection: number): void {
    const world = this.#world;
    // Work that had reached the other side of a broken connection is still done there.
    if ((connection !== this.#connection || this.#link.isCut) && world.random.chance(0.5)) return;
    let reply: Reply = null;
    let failure: Error | undefined;
    try {
      reply = execute();
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error));
      if (!/^(WRONGTYPE|READONLY)/.test(failure.message)) world.fail(failure);
    }
    if (connection !== this.#connection || this.#link.isCut) return;
    this.#answersAt = Math.max(this.#answersAt, world.now + this.#delayMs());
    world.schedule(
      this.#answersAt - world.now,
      () => {
        if (connection !== this.#connection) return;
        settle(failure, reply);
        // `connectRedis` does the same.
        if (failure?.message.startsWith('READONLY')) this.break();
      },
      this.#owner,
    );
  }

  command(name: string, ...args: (string | number)[]): Promise<Reply> {
    return this.#send((server) => server.run(name, args.map(String)));
  }

  defineCommand(name: string): void {
    const run = (keyCount: number, ...rest: (string | number)[]): Promise<Reply> => {
      const texts = rest.map(String);
      return this.#send((server) => server.runScript(name, texts.slice(0, keyCount), texts.slice(keyCount)));
    };
    Object.assign(this, { [name]: run });
  }

  get = (key: string) => this.command('GET', key);
  set = (...args: (string | number)[]) => this.command('SET', ...args);
  pexpire = (key: string, lifeMs: number) => this.command('PEXPIRE', key, lifeMs);
  exists = (key: string) => this.command('EXISTS', key);
  del = (key: string) => this.command('DEL', key);
  scan = (cursor: string, ...args: (string | number)[]) => this.command('SCAN', cursor, ...args);
  hscan = (key: string, cursor: string, ...args: (string | number)[]) => this.command('HSCAN', key, cursor, ...args);
  time = () => this.command('TIME');
  hget = (key: string, field: string) => this.command('HGET', key, field);
  hmget = (key: string, ...fields: string[]) => this.command('HMGET', key, ...fields);
  info = () => this.command('INFO');

  /** Returns it as the product's code knows it. It has the calls of that code, and nothing else. */
  asRedis(): Redis {
    return this as unknown as Redis;
  }
}
