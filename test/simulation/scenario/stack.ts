import type { KeyRecord } from '@turnpike/internal-api/keyRecord';
import { SimulatedDatabase } from '../ledger/simulatedDatabase.ts';
import { type LogState, SimulatedLedger } from '../ledger/simulatedLedger.ts';
import type { Mutation } from '../mutations.ts';
import { type ScriptRun, SimulatedRedis } from '../redis/simulatedRedis.ts';
import { type RedisLink, SimulatedRedisClient } from '../redis/simulatedRedisClient.ts';
import { SimulatedDisk } from '../router/simulatedDisk.ts';
import { type SimulatedRouter, startSimulatedRouter } from '../router/simulatedRouter.ts';
import { mountDisk } from '../stand-ins/fsPromises.ts';
import { connectNetwork, type SimulatedRequest } from '../stand-ins/undici.ts';
import { createTraceLogger } from '../world/createTraceLogger.ts';
import type { SimulatedProcess, World } from '../world/world.ts';
import type { LedgerOfTruth, TrueCall } from './ledgerOfTruth.ts';

export interface RouterMachine {
  index: number;
  /** Its own name, which is on its disk. */
  routerId: string;
  disk: SimulatedDisk;
  redisLink: RedisLink;
  ledgerLink: HttpLink;
  /** To the event log, which a broker may be. */
  logLink: HttpLink;
  process: SimulatedProcess;
  client: SimulatedRedisClient;
  incarnation: number;
  /** Undefined while it starts, and when it is dead. */
  router: SimulatedRouter | undefined;
  /** The router was told to end, and takes no new call. */
  isLeaving: boolean;
  /** The router has ended in order and left nothing behind: it never comes back. */
  hasLeft: boolean;
}

interface HttpLink {
  isCut: boolean;
  slownessMs: number;
}

interface Replica {
  process: SimulatedProcess;
  /** Undefined while it starts. */
  ledger: SimulatedLedger | undefined;
}

const LEDGER_REPLICAS = 2;
const LONGEST_CALL_MS = 3_000;
/** The text of a log without a spoilt record. */
export const asItIs = (text: string): string => text;
export const LINK_MS = 2;
/** How much later than others an address may lead to the Redis that took over. */
export const REROUTED_MS = 1_000;

/** All that runs in a world, and how to break and mend it. */
export class Stack {
  readonly world: World;
  readonly truth: LedgerOfTruth;
  /** The region's; another one after a failover. */
  redis: SimulatedRedis;
  readonly database: SimulatedDatabase;
  readonly log: LogState;
  onScript: (run: ScriptRun, redis: SimulatedRedis) => void = () => {};
  readonly leaseMs: number;
  readonly longestCallMs: number;
  readonly machines: RouterMachine[] = [];
  readonly replicas: Replica[] = [];
  readonly keys = new Map<string, KeyRecord>();
  readonly #mutation: Mutation | undefined;
  readonly #logger;

  constructor(
    world: World,
    { truth, mutation, leaseMs }: { truth: LedgerOfTruth; mutation: Mutation | undefined; leaseMs: number },
  ) {
    this.world = world;
    this.truth = truth;
    this.leaseMs = leaseMs;
    this.longestCallMs = mutation?.longestCallMs ?? LONGEST_CALL_MS;
    this.#mutation = mutation;
    this.#logger = createTraceLogger(world);
    this.redis = this.#watch(this.makeRedis());
    this.log = { isDown: false, write: asItIs, database: new SimulatedDatabase(world) };
    this.database = new SimulatedDatabase(world, mutation?.statements, mutation?.isBlindToRestarts);
    connectNetwork((url, request) => this.#carry(url, request));
    for (let index = 0; index < LEDGER_REPLICAS; index += 1) this.startReplica(index);
  }

  makeRedis(): SimulatedRedis {
    return new SimulatedRedis(this.world, this.#mutation?.script ? { change: this.#mutation.script } : {});
  }

  #watch(redis: SimulatedRedis): SimulatedRedis {
    redis.onScript = (run) => this.onScript(run, redis);
    redis.onDown = () => {
      for (const { client, process } of this.machines) if (!process.isDead && client.server === redis) client.break();
    };
    return redis;
  }

  /** A replica takes over that lacks a tail. Nobody's connection breaks, and addresses lead there one by one. */
  failOverRedis(how: { lostMs: number; skewMs: number }): void {
    const former = this.redis;
    this.redis = this.#watch(former.demote(how));
    for (const { redisLink } of this.machines)
      this.world.schedule(
        this.world.random.share() * REROUTED_MS,
        () => {
          if (redisLink.server === former) redisLink.server = this.redis;
        },
        this.redis.process,
      );
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
    this.log.database.abort(replica.process);
  }

  /** Starts a router on a new machine, whose clock is that far off. */
  addRouter({ skewMs }: { skewMs: number }): void {
    const index = this.machines.length;
    const disk = new SimulatedDisk(this.world);
    mountDisk(`/spool/${index}`, disk);
    const redisLink = { server: this.redis, isCut: false, slownessMs: LINK_MS };
    const ledgerLink = { isCut: false, slownessMs: LINK_MS };
    const logLink = { isCut: false, slownessMs: LINK_MS };
    const process = this.world.spawn(`router-${index}`, skewMs);
    const client = new SimulatedRedisClient(this.world, { owner: process, link: redisLink });
    const machine: RouterMachine = {
      index,
      routerId: `router-${index}`,
      disk,
      redisLink,
      ledgerLink,
      logLink,
      process,
      client,
      incarnation: 0,
      router: undefined,
      isLeaving: false,
      hasLeft: false,
    };
    this.machines.push(machine);
    this.#startProcess(machine);
  }

  #startProcess(machine: RouterMachine): void {
    const { index, routerId, process, client } = machine;
    const start = (): void =>
      void startSimulatedRouter({
        owner: routerId,
        redis: client.asRedis(),
        ledgerUrl: `http://for-router-${index}`,
        spoolDir: `/spool/${index}`,
        leaseMs: this.leaseMs,
        authenticate: (keyId) => this.#keyOf(keyId),
        log: this.#logger,
        mutate: this.#mutation?.router ?? ((parts) => parts),
      }).then(
        (router) => {
          if (!process.isDead) machine.router = router;
        },
        // An orchestrator does the same: a router that cannot start is started again.
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

  /** Gives a dead router another disk: it does not know who it was. */
  replaceDisk(machine: RouterMachine): void {
    machine.disk.replace();
    machine.routerId = `router-${machine.index}-${machine.incarnation + 1}`;
  }

  /** Ends a router in order, like a release: its calls end first. */
  async stopRouter(machine: RouterMachine): Promise<void> {
    const { process, router } = machine;
    if (process.isDead || !router || machine.isLeaving) return;
    this.world.note(`router-${machine.index} is told to end`);
    machine.isLeaving = true;
    // Its server ends first, and with that all that clients wait for.
    while (!process.isDead && this.isServing(machine)) await this.world.sleep(50);
    const end = (isDone: boolean): void => {
      if (process.isDead) return;
      this.world.note(
        `router-${machine.index} has ended, ${isDone ? 'and left nothing behind' : 'not all is recorded'}`,
      );
      machine.client.break();
      process.isDead = true;
      machine.router = undefined;
      machine.hasLeft = isDone;
      if (isDone) this.truth.heardAt.delete(machine.routerId);
      // A release brings the next one.
      if (this.machines.every(({ hasLeft }) => hasLeft))
        this.world.schedule(0, () => this.addRouter({ skewMs: 0 }), this.world.own);
    };
    this.world.schedule(0, () => void router.close().then(end, () => end(false)), process);
    while (!process.isDead) await this.world.sleep(50);
  }

  /** Starts a dead router's next process, by the clock of its machine. */
  restartRouter(machine: RouterMachine): void {
    if (!machine.process.isDead || machine.hasLeft) return;
    machine.isLeaving = false;
    this.world.note(`router-${machine.index} starts again`);
    machine.incarnation += 1;
    machine.process = this.world.spawn(`router-${machine.index}`, machine.process.skewMs);
    machine.client = new SimulatedRedisClient(this.world, {
      owner: machine.process,
      link: machine.redisLink,
    });
    this.#startProcess(machine);
  }

  /** Whether a client waits for a router. */
  isServing({ index }: RouterMachine): boolean {
    return [...this.truth.calls.values()].some(
      (call) => call.router === index && this.isAlive(call) && !call.isRefused && call.isKept === undefined,
    );
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
    const { process: owner, routerId } = machine;
    const link = url.pathname.includes('/event-log/') ? machine.logLink : machine.ledgerLink;
    const isReport = method === 'PUT';
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
          const askedAt = world.now;
          const { losses } = this.database;
          ledger.answer(method, url, body).then(
            ({ status, text }) => {
              // Rows of the database of that time may be lost with it.
              const isKept = losses === this.database.losses;
              if (isReport && status === 200 && isKept) this.truth.heardAt.set(routerId, askedAt);
              answer(status, text);
            },
            () => answer(503, '{}'),
          );
        },
        replica.process,
      );
    });
  }
}
