import { rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { unlinkStackFile } from '../stackFile.ts';
import type { ReaperMessage } from './startReaper.ts';

/**
 * Ends a launcher's processes if the launcher itself is killed. Only the launcher holds the other end of standard
 * input, so its end is the launcher's end, for any cause.
 */
const GRACE_MS = 4_000;
const POLL_MS = 50;

const groups = new Map<number, NodeJS.Signals>();
const files = new Set<string>();
const links = new Map<string, string>();

function note(message: ReaperMessage): void {
  switch (message.type) {
    case 'watch':
      groups.set(message.group, message.stopSignal);
      return;
    case 'forget':
      groups.delete(message.group);
      return;
    case 'remove':
      files.add(message.file);
      return;
    case 'unlink':
      links.set(message.link, message.file);
  }
}

/** Signals a process group. Returns false if it has no process left. */
function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal);
  } catch {
    return false;
  }
}

async function reap(): Promise<void> {
  for (const file of files) rmSync(file, { force: true });
  for (const [group, stopSignal] of groups) signalGroup(group, stopSignal);
  // Without a launcher no caller learns of a link that cannot be changed, and the processes have to end nevertheless.
  for (const [link, file] of links) await unlinkStackFile(link, file).catch(() => undefined);
  const deadline = performance.now() + GRACE_MS;
  const isAlive = ([group]: [number, NodeJS.Signals]) => signalGroup(group, 0);
  while (performance.now() < deadline && [...groups].some(isAlive)) await pause(POLL_MS);
  for (const group of groups.keys()) signalGroup(group, 'SIGKILL');
}

// A signal that ends the launcher may be sent to its whole session. The reaper outlives every signal but SIGKILL.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);

createInterface({ input: process.stdin })
  .on('line', (line) => note(JSON.parse(line)))
  .on('close', () => void reap().then(() => process.exit(0)));
