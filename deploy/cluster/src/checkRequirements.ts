import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { StackError } from '@turnpike/local-stack/stackError';
import { BIN } from './paths.ts';

interface Machine {
  platform: string;
  uid: number | undefined;
  /** Whether the cluster was compiled before. */
  isCompiled: boolean;
  /** Such as `go1.26.2`; undefined where there is no Go. */
  goVersion: string | undefined;
}

/** Throws a `StackError` that says what this machine lacks. */
export async function checkRequirements(): Promise<void> {
  const isCompiled = existsSync(`${BIN}/kubelet`) && existsSync(`${BIN}/kube-router`);
  const goVersion = await readGoVersion();
  const lack = findLack({ platform: process.platform, uid: process.getuid?.(), isCompiled, goVersion });
  if (lack !== undefined) throw new StackError(lack);
}

/** Returns the requirement of a cluster that a machine lacks, and the fix, in one line. */
export function findLack({ platform, uid, isCompiled, goVersion }: Machine): string | undefined {
  if (platform !== 'linux') return 'The cluster needs Linux: its nodes are namespaces of the kernel.';
  if (uid !== 0) return 'The cluster needs root, for namespaces, mounts and control groups: sudo npm run cluster.';
  if (isCompiled) return undefined;
  if (goVersion === undefined)
    return 'Go is missing, which the cluster is compiled with once: install Go 1.26 or newer, https://go.dev/dl.';
  const [, major, minor] = /^go(\d+)\.(\d+)/.exec(goVersion) ?? [];
  if (Number(major) > 1 || Number(minor) >= 26) return undefined;
  return `Go is ${goVersion}, which is too old to compile the cluster with: install 1.26 or newer, https://go.dev/dl.`;
}

async function readGoVersion(): Promise<string | undefined> {
  try {
    return (await promisify(execFile)('go', ['env', 'GOVERSION'])).stdout.trim();
  } catch {
    return undefined;
  }
}
