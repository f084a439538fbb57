import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { hasCommand, installDebianPackages } from '@turnpike/local-stack/tools/installDebianPackages';
import { CannotInject } from '../cannotInject.ts';

/** Direction in which packets are dropped: both ways, towards the callee, or towards the caller. */
export type CutDirection = 'both' | 'requests' | 'answers';

const POLL_MS = 10;
const ANSWERS_WITHIN_MS = 5_000;

/** Drops TCP packets by port. The kernel removes all rules when this process ends, however it ends. */
export class PacketFilter {
  readonly #nft: ChildProcessWithoutNullStreams;
  readonly #chain: string;
  #answer = '';
  #error = '';

  private constructor(nft: ChildProcessWithoutNullStreams) {
    this.#nft = nft;
    this.#chain = `ip turnpike_faults_${nft.pid} dropped`;
    nft.stdin.on('error', () => undefined);
    nft.stdout.on('data', (text) => (this.#answer += text));
    nft.stderr.on('data', (text) => (this.#error += text));
  }

  /** Throws `CannotInject` where nftables or the right to use it is missing. */
  static async open(): Promise<PacketFilter> {
    if (!hasCommand('nft'))
      await installDebianPackages(['nftables'], 'nftables', () => undefined).catch((error: Error) => {
        throw new CannotInject(error.message);
      });
    // Interactive, because the table of an owner is gone with its connection to the kernel.
    const filter = new PacketFilter(spawn('nft', ['-i']));
    const [family, table, chain] = filter.#chain.split(' ');
    try {
      await filter.#run(
        `add table ${family} ${table} { flags owner; }`,
        `add chain ${family} ${table} ${chain} { type filter hook input priority 0; }`,
      );
    } catch (error) {
      filter.close();
      throw new CannotInject(
        `the right to drop packets: run as root with CAP_NET_ADMIN (${(error as Error).message}).`,
      );
    }
    return filter;
  }

  /** Drops what goes to these ports and what comes from them, or one of both. */
  async drop(ports: readonly number[], direction: CutDirection): Promise<void> {
    const rule = (field: string): string => `add rule ${this.#chain} tcp ${field} { ${ports.join(', ')} } drop`;
    if (direction !== 'answers') await this.#run(rule('dport'));
    if (direction !== 'requests') await this.#run(rule('sport'));
  }

  /** All packets arrive again. */
  clear(): Promise<void> {
    return this.#run(`flush chain ${this.#chain}`);
  }

  close(): void {
    this.#nft.kill();
  }

  /** Runs commands, and resolves when the kernel has taken them. */
  async #run(...commands: string[]): Promise<void> {
    this.#answer = '';
    this.#error = '';
    this.#nft.stdin.write(`${[...commands, `list chain ${this.#chain}`].join('\n')}\n`);
    const deadline = performance.now() + ANSWERS_WITHIN_MS;
    while (!this.#answer.trimEnd().endsWith('}\n}')) {
      if (this.#error !== '' || this.#nft.exitCode !== null || performance.now() > deadline)
        throw new Error(this.#error.trim() || 'nft does not answer');
      await pause(POLL_MS);
    }
  }
}
