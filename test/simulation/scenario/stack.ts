import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import { SimulatedDatabase } from '../ledger/simulatedDatabase.ts';
import { type LogState, SimulatedLedger } from '../ledger/simulatedLedger.ts';
import type { Mutation } from '../mutations.ts';
import { SimulatedRedis } from '../redis/simulatedRedis.ts';
import { type RedisLink, SimulatedRedisClient } from '../redis/simulatedRedisClient.ts';
import { SimulatedDisk } from '../router/simulatedDisk.ts';
import { type SimulatedRouter, startSimulatedRouter } from '../router/simulatedRouter.ts';
import { mountDisk } from '../stand-ins/fsPromises.ts';
import { connectNetwork, type SimulatedRequest } from '../stand-ins/undici.ts';
import { createTraceLogger } from '../world/createTraceLogger.ts';
import type { SimulatedProcess, World } from '../world/world.ts';
import type { LedgerOfTruth, TrueCall } from './ledgerOfTruth.ts';

interface RouterMachine {
  index: number;
  disk: SimulatedDisk;
  redisLink: RedisLink;
  ledgerLink: { isCut: boolean; slownessMs: number };
  process: SimulatedProcess;
  client: SimulatedRedisClient;
  incarnation: number;
  /** Undefined while it starts, and when it is dead. */
  router: SimulatedRouter | undefined;
}

interface Replica {
  process: SimulatedProcess;
  /** Undefined while it starts. */
  ledger: SimulatedLedger | undefined;
}

const LEDGER_REPLICAS = 2;
/** What a log writes that spoils nothing. */
export const asItIs = (text: string): string => text;
export const LINK_MS = 2;

/** All that runs in a world, and how to break and mend it. */
export class Stack {
  readonly world: World;
  readonly truth: LedgerOfTruth;
  readonly redis: SimulatedRedis;
  readonly database: SimulatedDatabase;
  readonly log: LogState = { isDown: false, write: asItIs };
  readonly leaseMs: number;
  readonly machines: RouterMachine[] = [];
  readonly replicas: Replica[] = [];
  readonly keys = new Map<string, KeyRecord>();
  readonly #mutation: Mutation;
  readonly #logger;

  constructor(
    world: World,
    { truth, mutation, leaseMs }: { truth: LedgerOfTruth; mutation: Mutation; leaseMs: number },
  ) {
    this.world = world;
    this.truth = truth;
    this.leaseMs = leaseMs;
    this.#mutation = mutation;
    this.#logger = createTraceLogger(world);
    this.redis = new SimulatedRedis(world, mutation.script ? { change: mutation.script } : {});
    this.redis.onDown = () => {
      for (const { client, process } of this.machines) if (!process.isDead) client.break();
    };
    this.database = new SimulatedDatabase(world);
    this.database.ignoredStatement = mutation.ignoredStatement;
    connectNetwork((url, request) => this.#carry(url, request));
    for (let index = 0; index < LEDGER_REPLICAS; index += 1) this.startReplica(index);
  }

  startReplica(index: number): void {
    const process = this.world.spawn(`ledger-${index}`);
    const replica: Replica = { process, ledger: undefined };
    this.replicas[index] = replica;
    const start = (): void => {
      replica.ledger = new SimulatedLedger({ database: this.database, log: this.log, logger: this.#logger });
    };
    this.world.schedule(0, start, process);
  }

  killReplica(index: number): void {
    const replica = this.replicas[index];
    if (!replica || replica.process.isDead) return;
    this.world.note(`ledger-${index} is killed`);
    replica.process.isDead = true;
    this.database.abort(replica.process);
  }

  /** Starts a router on a new machine, whose clock is that far off. */
  addRouter({ skewMs }: { skewMs: number }): void {
    const index = this.machines.length;
    const disk = new SimulatedDisk(this.world);
    mountDisk(`/spool/${index}`, disk);
    const redisLink = { isCut: false, slownessMs: LINK_MS };
    const ledgerLink = { isCut: false, slownessMs: LINK_MS };
    const process = this.world.spawn(`router-${index}`, skewMs);
    const client = new SimulatedRedisClient(this.world, { server: this.redis, owner: process, link: redisLink });
    const machine: RouterMachine = {
      index,
      disk,
      redisLink,
      ledgerLink,
      process,
      client,
      incarnation: 0,
      router: undefined,
    };
    this.machines.push(machine);
    this.#startProcess(machine);
  }

  #startProcess(machine: RouterMachine): void {
    const { index, process, client } = machine;
    const start = (): void =>
      void startSimulatedRouter({
        owner: `router-${index}`,
        redis: client.asRedis(),
        ledgerUrl: `http://for-router-${index}`,
        spoolDir: `/spool/${index}`,
        leaseMs: this.leaseMs,
        authenticate: (keyId) => this.#keyOf(keyId),
        log: this.#logger,
        mutate: this.#mutation.router ?? ((parts) => parts),
      }).then(
        (router) => {
          if (!process.isDead) machine.router = router;
        },
        // As an orchestrator would: a router that cannot start is started again.
        () => this.world.schedule(500, start, process),
      );
    this.world.schedule(0, start, process);
  }

  #keyOf(keyId: string): KeyRecord {
    const key = this.keys.get(keyId);
    if (!key) throw new Error('no such key');
    return key;
  }

  /** Kills a router's process; its disk is left as it is. */
  killRouter(machine: RouterMachine): void {
    if (machine.process.isDead) return;
    this.world.note(`router-${machine.index} is killed`);
    this.truth.lose({ at: this.world.now, kind: 'process', router: machine.index });
    machine.client.break();
    machine.process.isDead = true;
    machine.router = undefined;
  }

  /** Starts a dead router's next process, by the clock of its machine. */
  restartRouter(machine: RouterMachine): void {
    if (!machine.process.isDead) return;
    this.world.note(`router-${machine.index} starts again`);
    machine.incarnation += 1;
    machine.process = this.world.spawn(`router-${machine.index}`, machine.process.skewMs);
    machine.client = new SimulatedRedisClient(this.world, {
      server: this.redis,
      owner: machine.process,
      link: machine.redisLink,
    });
    this.#startProcess(machine);
  }

  isAlive({ router, incarnation }: TrueCall): boolean {
    const machine = this.machines[router];
    return machine !== undefined && machine.incarnation === incarnation && !machine.process.isDead;
  }

  /** Carries a request of a router to a replica of the ledger, and the answer back, or not. */
  #carry(url: URL, { method = 'GET', body = '', signal }: SimulatedRequest): Promise<{ status: number; text: string }> {
    const { world } = this;
    const machine = this.machines[Number(url.hostname.split('-').at(-1))];
    if (!machine) throw new Error(`nobody is at ${url.hostname}`);
    const { process: owner, ledgerLink: link } = machine;
    const delayMs = () => world.random.share() * link.slownessMs;
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      const replica = world.random.pick(this.replicas);
      const answer = (status: number, text: string): void => {
        if (!link.isCut) world.schedule(delayMs(), () => resolve({ status, text }), owner);
      };
      if (link.isCut) return;
      const { ledger } = replica;
      if (replica.process.isDead || !ledger) {
        world.schedule(1, () => reject(new Error('connect ECONNREFUSED')), owner);
        return;
      }
      world.schedule(
        delayMs(),
        () => {
          ledger.answer(method, url, body).then(
            ({ status, text }) => answer(status, text),
            () => answer(503, '{}'),
          );
        },
        replica.process,
      );
    });
  }
}
