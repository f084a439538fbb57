import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { z } from 'zod';
import type { RequestLog } from '../admin/requestLog.ts';
import type { EngineConfig } from '../config.ts';
import type { Clock } from '../engine/clock.ts';
import { Engine } from '../engine/engine.ts';
import type { FaultRules } from '../faults/faultRules.ts';
import { planSequence } from '../generation/planSequence.ts';
import { createEngineListener } from '../http/engineServer.ts';
import { type Address, closeServer, listen } from './listen.ts';

/**
 * - `serving`: as it should be.
 * - `draining`: new inference gets 503, what runs goes on, health stays 200.
 * - `dead`: all that runs fails; 500 and an unhealthy 503 for `watchdogMs`, then connections are refused. What follows is
 *   a restart, with empty caches.
 * - `asleep`: all that runs is aborted, the caches are forgotten, requests wait; health stays 200.
 * - `refusing`: the port is closed, connections are cut.
 * - `cutting`: connections are accepted and closed at once.
 */
export const processStateSchema = z.enum(['serving', 'draining', 'dead', 'asleep', 'refusing', 'cutting']);
export type ProcessState = z.output<typeof processStateSchema>;

/** Pause before a port that another process took is tried again. */
const RELISTEN_MS = 100;

export interface EngineProcessOptions {
  config: EngineConfig;
  clock: Clock;
  listenHost: string;
  /** The log and the rules belong to all engines. */
  log: RequestLog;
  faultRules: FaultRules;
}

/** One engine and its port, as the process of a vLLM: it can leave, refuse, die and come back. */
export class EngineProcess {
  readonly engine: Engine;
  readonly #clock: Clock;
  readonly #address: Address;
  readonly #listener: ReturnType<typeof createEngineListener>;
  #state: ProcessState = 'serving';
  #server: Server | undefined;
  #wantedPort: 'open' | 'closed' = 'open';
  /** The last change of the port; the next one waits for it. */
  #portChange: Promise<void> = Promise.resolve();
  #cancels: (() => void)[] = [];

  constructor({ config, clock, listenHost, log, faultRules }: EngineProcessOptions) {
    this.engine = new Engine(config, clock);
    this.engine.onDeath = () => void this.become('dead');
    this.#clock = clock;
    this.#address = { host: listenHost, port: config.port, program: 'engine-simulator' };
    this.#listener = createEngineListener({
      engine: this.engine,
      plan: (asked) => planSequence(asked, { config, faultRules }),
      clock,
      log,
      servingState: () => (this.#state === 'draining' || this.#state === 'dead' ? this.#state : 'serving'),
    });
  }

  get state(): ProcessState {
    return this.#state;
  }

  /** Rejects in one line when the port is taken. */
  async open(): Promise<void> {
    this.#server = await listen(this.#listener, this.#address);
    this.#server.on('connection', (socket: Socket) => {
      if (this.#state === 'cutting') socket.destroy();
    });
  }

  /** Changes the state and resolves when the port matches it. Leaving the state of death is a restart. */
  become(state: ProcessState): Promise<void> {
    const before = this.#state;
    this.#state = state;
    for (const cancel of this.#cancels.splice(0)) cancel();
    if (before === 'dead' && state !== 'dead') this.engine.restart();
    if (before === 'asleep') this.engine.wake();
    if (state === 'dead') this.#die();
    if (state === 'asleep') this.engine.sleep();
    if (state === 'cutting') this.#server?.closeAllConnections();
    return this.#setPort(state === 'refusing' ? 'closed' : 'open');
  }

  /** Closes the port and stops the engine for good. */
  async close(): Promise<void> {
    for (const cancel of this.#cancels.splice(0)) cancel();
    this.engine.close();
    await this.#setPort('closed');
  }

  #die(): void {
    const { watchdogMs } = this.engine.knobs;
    this.#cancels.push(this.#clock.wakeAfter(watchdogMs, () => void this.#setPort('closed')));
    this.engine.die();
  }

  #setPort(wanted: 'open' | 'closed'): Promise<void> {
    this.#wantedPort = wanted;
    this.#portChange = this.#portChange.then(() => this.#changePort());
    return this.#portChange;
  }

  async #changePort(): Promise<void> {
    if (this.#wantedPort === 'closed' && this.#server) {
      await closeServer(this.#server);
      this.#server = undefined;
    } else if (this.#wantedPort === 'open' && !this.#server) {
      const retry = () => void this.#setPort(this.#wantedPort);
      await this.open().catch(() => this.#cancels.push(this.#clock.wakeAfter(RELISTEN_MS, retry)));
    }
  }
}
