import { basename, dirname } from 'node:path';
import type { SimulatedDisk } from '../router/simulatedDisk.ts';

const disks = new Map<string, SimulatedDisk>();

/** Makes a disk answer for a folder. */
export function mountDisk(dir: string, disk: SimulatedDisk): void {
  disks.set(dir, disk);
}

function diskOf(dir: string): SimulatedDisk {
  const disk = disks.get(dir);
  if (!disk) throw new Error(`no disk is mounted at ${dir}`);
  return disk;
}

// The face of `node:fs/promises`, as far as the spool uses it.
export const mkdir = async (): Promise<void> => {};
export const readdir = (dir: string): Promise<string[]> => diskOf(dir).list();
export const stat = (path: string): Promise<{ size: number }> => diskOf(dirname(path)).stat(basename(path));
export const unlink = (path: string): Promise<void> => diskOf(dirname(path)).unlink(basename(path));
/** With `force`, as it is asked: what is not there is no error. */
export const rm = (path: string): Promise<void> => unlink(path).catch(() => {});
export const open = async (path: string, flags: string): Promise<object> => {
  const disk = disks.get(path);
  if (disk) return disk.openFolder();
  return diskOf(dirname(path)).open(basename(path), flags);
};
