import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface LogLine {
  level: string;
  time: string;
  service: string;
  msg: string;
  requestId?: string;
  callId?: string;
  route?: string;
}

/** Reads the log of a service since its start. Throws on a line that is not one JSON object. */
export async function readLogLines(stateDir: string, service: string): Promise<LogLine[]> {
  const text = await readFile(join(stateDir, 'logs', `${service}.log`), 'utf8');
  // A line under way has no end yet.
  const lines = text.split('\n').slice(0, -1);
  return lines.map((line) => {
    const value: unknown = JSON.parse(line);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(`no object: ${line}`);
    return value as LogLine;
  });
}
