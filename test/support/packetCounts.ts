import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '@turnpike/test-support/until';

/** TCP packets from the processes of a group to some ports of this machine. */
export interface Flow {
  from: string;
  /** A set of nftables: `{ 8080, 8100-8199 }`. */
  to: string;
  verdict: 'accept' | 'drop';
}

/** The group of one process in the tree of control groups. */
const toGroup = (name: string): string => `turnpike-${process.pid}-${name}`;

/** Returns the mount point of the control groups of version 2. Throws where there is none. */
function findGroupsFolder(): string {
  const [, folder] = /^\S+ (\S+) cgroup2 /m.exec(readFileSync('/proc/mounts', 'utf8')) ?? [];
  if (folder === undefined) throw new Error('control groups of version 2 are not mounted');
  return folder;
}

/** Runs a command in a mount namespace where nft finds the groups, which some machines have at another place. */
const toCommand = (command: string): string[] => [
  '-m',
  'sh',
  '-c',
  `mount --rbind ${findGroupsFolder()} /sys/fs/cgroup && ${command}`,
];

/** Returns what this machine lacks to count packets by process, or undefined where it lacks nothing. */
export function findLack(): string | undefined {
  try {
    const folder = join(findGroupsFolder(), toGroup('probe'));
    mkdirSync(folder);
    try {
      const rule = `socket cgroupv2 level 1 "${toGroup('probe')}" counter`;
      execFileSync('unshare', toCommand('exec nft --check -f -'), {
        input: `table inet probe { chain out { type filter hook output priority 0; ${rule}; }; }\n`,
        stdio: ['pipe', 'ignore', 'pipe'],
      });
      execFileSync('ss', ['-V'], { stdio: 'ignore' });
      return undefined;
    } finally {
      rmdirSync(folder);
    }
  } catch (error) {
    return (error as Error).message.split('\n').slice(0, 2).join(' ');
  }
}

/** Removes a group. Returns false if a process of it has just forked, or has ended and is not waited for yet. */
function isRemoved(folder: string): boolean {
  try {
    for (const pid of readFileSync(join(folder, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean))
      writeFileSync(join(folder, '..', 'cgroup.procs'), pid);
    rmdirSync(folder);
    return true;
  } catch {
    return false;
  }
}

/** Counts packets of groups of processes by the first flow that they belong to. The kernel forgets all rules with this process. */
export class PacketCounts {
  readonly #folders: Record<string, string>;
  readonly #nft: ChildProcessWithoutNullStreams;
  readonly #table = `inet turnpike_${process.pid}`;
  #answer = '';

  private constructor(groups: Record<string, number[]>) {
    const root = findGroupsFolder();
    this.#folders = Object.fromEntries(Object.keys(groups).map((name) => [name, join(root, toGroup(name))]));
    for (const [name, folder] of Object.entries(this.#folders)) {
      mkdirSync(folder);
      for (const pid of groups[name] ?? []) writeFileSync(join(folder, 'cgroup.procs'), String(pid));
    }
    // Interactive, because the table of an owner is gone with its connection to the kernel.
    this.#nft = spawn('unshare', toCommand('exec nft -i'));
    this.#nft.stdout.on('data', (text) => (this.#answer += text));
    this.#nft.stderr.on('data', (text) => (this.#answer += text));
  }

  /** Puts processes into groups, and resets the connections of `ports`, so that each is opened again by its group. */
  static async open(
    groups: Record<string, number[]>,
    { flows, ports }: { flows: Flow[]; ports: [first: number, last: number] },
  ): Promise<PacketCounts> {
    const counts = new PacketCounts(groups);
    const rules = flows.map(
      ({ from, to, verdict }) =>
        `add rule ${counts.#table} out socket cgroupv2 level 1 "${toGroup(from)}" tcp dport ${to} counter ${verdict}`,
    );
    await counts.#run(
      `add table ${counts.#table} { flags owner; }`,
      `add chain ${counts.#table} out { type filter hook output priority 0; }`,
      ...rules,
    );
    const [first, last] = ports.map((port) => `:${port}`);
    execFileSync('ss', ['-K', '-t', `( dport >= ${first} and dport <= ${last} )`], { stdio: 'ignore' });
    return counts;
  }

  /** Returns the packets of each flow so far. */
  async read(): Promise<number[]> {
    const answer = await this.#run();
    return Array.from(answer.matchAll(/counter packets (\d+)/g), ([, packets]) => Number(packets));
  }

  /** Opens a connection as a process of a group does. Returns whether that came about within five seconds. */
  canConnect(group: string, port: number): boolean {
    const script = `echo $$ > ${this.#folders[group]}/cgroup.procs && exec 3<>/dev/tcp/127.0.0.1/${port}`;
    try {
      execFileSync('timeout', ['5', 'bash', '-c', script], { stdio: 'ignore' });
      return true;
    } catch {
      return false;
    }
  }

  /** Ends the counting, and puts the processes back to the root of the groups. */
  async close(): Promise<void> {
    this.#nft.kill();
    for (const folder of Object.values(this.#folders)) await until(`the end of ${folder}`, () => isRemoved(folder));
  }

  /** Runs commands, and returns the table that they leave. */
  async #run(...commands: string[]): Promise<string> {
    this.#answer = '';
    this.#nft.stdin.write(`${[...commands, `list table ${this.#table}`].join('\n')}\n`);
    return until('an answer of nft', () => {
      if (/Error/.test(this.#answer)) throw new Error(this.#answer);
      return this.#answer.trimEnd().endsWith('}\n}') && this.#answer;
    });
  }
}
