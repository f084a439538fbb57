import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { BIN, STATE } from '@turnpike/cluster/paths';
import type { Pod } from './pods.ts';

const CTR = [`${BIN}/ctr`, '-a', '/run/containerd/containerd.sock', '-n', 'k8s.io'];

/** Runs a program of this machine within the namespaces of a node, and resolves with what it prints. */
async function runOnNode(node: string, command: readonly string[], input = ''): Promise<string> {
  const pid = (await readFile(join(STATE, node, 'pid'), 'utf8')).trim();
  const namespaces = ['-t', pid, '--net', '--mount', '--pid', '--uts', '--ipc'];
  const child = spawn('nsenter', [...namespaces, '--', ...command], { stdio: ['pipe', 'pipe', 'pipe'] });
  child.stdin.on('error', () => undefined); // the exit code has the cause
  child.stdin.end(input);
  const code = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const [stdout, stderr, exitCode] = await Promise.all([text(child.stdout), text(child.stderr), code]);
  if (exitCode !== 0) throw new Error(`${command.join(' ')} on ${node}: ${stderr.trim()}`);
  return stdout;
}

/** The first process of every container of a node, by the container's id, as the node counts processes. */
async function listProcesses(node: string): Promise<Map<string, string>> {
  const lines = (await runOnNode(node, [...CTR, 'tasks', 'ls'])).split('\n').slice(1);
  return new Map(lines.map((line) => line.trim().split(/\s+/)).map(([id = '', pid = '']) => [id, pid]));
}

/** One container of a pod, as its node sees it. */
export interface Container {
  pod: Pod;
  name: string;
  node: string;
  pid: string;
}

/** Every container of these pods that runs. */
export async function listContainers(pods: readonly Pod[]): Promise<Container[]> {
  const nodes = [...new Set(pods.flatMap(({ spec }) => spec.nodeName ?? []))];
  const processes = new Map(await Promise.all(nodes.map(async (node) => [node, await listProcesses(node)] as const)));
  return pods.flatMap((pod) =>
    pod.status.containerStatuses.flatMap(({ name, containerID = '' }) => {
      const node = pod.spec.nodeName ?? '';
      const pid = processes.get(node)?.get(containerID.replace('containerd://', ''));
      return pid === undefined ? [] : [{ pod, name, node, pid }];
    }),
  );
}

/** Runs a program of this machine in the network of a container's pod: images have no shell. */
export const runInNetwork = ({ node, pid }: Container, command: readonly string[], input?: string): Promise<string> =>
  runOnNode(node, ['nsenter', '-t', pid, '--net', '--', ...command], input);

/** Reads a file below `/proc/<first process>` of a container. */
export const readProcess = ({ node, pid }: Container, file: string): Promise<string> =>
  runOnNode(node, ['cat', `/proc/${pid}/${file}`]);

/** Runs a shell's commands as this machine's root, in the root of a container's file system. */
export const runInFiles = ({ node, pid }: Container, commands: string, input?: string): Promise<string> =>
  runOnNode(node, ['sh', '-ec', `cd "/proc/${pid}/root"\n${commands}`], input);

/** Whether something is at a path of a container's file system. */
export async function existsIn({ node, pid }: Container, path: string): Promise<boolean> {
  return (
    (await runOnNode(node, ['sh', '-c', `test -e "/proc/${pid}/root${path}" && echo yes || echo no`])).trim() === 'yes'
  );
}

/** SIGKILL to a container's first process. */
export async function killContainer({ node, pid }: Container): Promise<void> {
  await runOnNode(node, ['kill', '-KILL', pid]);
}

/** Whether a container's first process is still there. */
export async function isRunning({ node, pid }: Container): Promise<boolean> {
  return (await runOnNode(node, ['sh', '-c', `test -e /proc/${pid} && echo yes || echo no`])).trim() === 'yes';
}
