import { readFile, writeFile } from 'node:fs/promises';

/** Forgets the most memory that a process has had. */
export const forgetPeak = (pid: number): Promise<void> => writeFile(`/proc/${pid}/clear_refs`, '5');

/** The most memory that a process has had since, in MiB. */
export async function readPeakMib(pid: number): Promise<number> {
  const [, kib] = /^VmHWM:\s*(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) / 1_024;
}
