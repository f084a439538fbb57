import { setTimeout as pause } from 'node:timers/promises';
import type { Part } from '@turnpike/local-stack/process/startParts';
import type { RunningStack } from '@turnpike/local-stack/startStack';
import type { ClusterPart } from './clusterPart.ts';
import { isAnyAlive, killProcesses, signalProcesses } from './signalProcesses.ts';

const POLL_MS = 10;
/** All simulated media backends: one process. */
const MEDIA_SIMULATORS = 'media-simulators';

/** Kills, freezes and starts again the processes of a stack, by the names of its parts. */
export class PartControl {
  /** When a part was killed or frozen, in milliseconds of the Unix time. */
  readonly struckAt: number[] = [];
  readonly #running: RunningStack;
  readonly #pids = new Map<string, number>();
  readonly #dead = new Set<string>();
  readonly #frozen = new Set<string>();
  /** Stands in for the stack's own Redis. */
  readonly #cluster: ClusterPart | undefined;

  constructor(running: RunningStack, cluster: ClusterPart | undefined) {
    this.#running = running;
    this.#cluster = cluster;
    const { stores, engines, media, services, replicas } = running.parts;
    if (media) this.#pids.set(MEDIA_SIMULATORS, media.pid);
    for (const { name, pid } of [...stores, ...engines, ...Object.values(services), ...replicas])
      if (pid !== null) this.#pids.set(name, pid);
  }

  /** SIGKILL to all of the part's processes. Resolves when they are gone. */
  async kill(part: string): Promise<void> {
    this.#dead.add(part);
    this.#frozen.delete(part);
    if (this.#cluster && part === 'redis') await this.#cluster.kill();
    else {
      const killed = killProcesses(this.pidOf(part));
      while (isAnyAlive(killed)) await pause(POLL_MS);
    }
    this.struckAt.push(Date.now());
  }

  /** SIGTERM, as a deployment does. Resolves when the part has ended by itself. */
  async end(part: string): Promise<void> {
    const pid = this.pidOf(part);
    this.#dead.add(part);
    process.kill(pid, 'SIGTERM');
    while (isAnyAlive([pid])) await pause(POLL_MS);
  }

  /** SIGSTOP to all of the part's processes: connections stay open and nothing is answered. */
  async freeze(part: string): Promise<void> {
    this.#frozen.add(part);
    this.struckAt.push(Date.now());
    if (this.#cluster && part === 'redis') await this.#cluster.freeze();
    else signalProcesses(this.pidOf(part), 'SIGSTOP');
  }

  thaw(part: string): void {
    this.#frozen.delete(part);
    if (this.#cluster && part === 'redis') this.#cluster.thaw();
    else signalProcesses(this.pidOf(part), 'SIGCONT');
  }

  /** Starts a killed part with the settings and the data it had, and other variables for good. Resolves when it is ready. */
  async restart(part: string, env: Record<string, string> = {}): Promise<void> {
    if (this.#cluster && part === 'redis') await this.#cluster.restart();
    else this.#pids.set(part, (await this.#running.restart(part, env)).pid);
    this.#dead.delete(part);
  }

  /** Starts a process by the command of a part, under another name and with other variables. Waits for nothing. */
  startLike(part: string, other: { name: string; env: Record<string, string> }): Part {
    const started = this.#running.startLike(part, other);
    this.#pids.set(other.name, started.pid);
    return started;
  }

  /** Whether a part was killed or frozen and is not yet back. */
  isBroken(part: string): boolean {
    return this.#dead.has(part) || this.#frozen.has(part);
  }

  /** Everything runs again. */
  async mend(): Promise<void> {
    for (const part of this.#frozen) this.thaw(part);
    for (const part of this.#dead) await this.restart(part);
    await this.#cluster?.untilWhole();
  }

  /** A process that is frozen could not be stopped in an orderly way. */
  thawAll(): void {
    for (const part of this.#frozen) this.thaw(part);
  }

  /** The process of a part now. */
  pidOf(part: string): number {
    const pid = this.#pids.get(part);
    if (pid === undefined) throw new Error(`there is no part ${part}`);
    return pid;
  }
}
