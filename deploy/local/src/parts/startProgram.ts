import { join } from 'node:path';
import { request } from 'undici';
import type { Part, Parts } from '../process/startParts.ts';
import { repositoryRoot } from '../repositoryRoot.ts';

const TIMEOUT_MS = 5_000;

export interface Program {
  name: string;
  /** Its main file in the repository. */
  file: string;
  env: Record<string, string>;
  /** Those that answer `GET /health`. */
  ports: number[];
}

/**
 * Starts a program that replaces an external system, and resolves when all of its ports report that they are healthy.
 */
export async function startProgram(parts: Parts, { name, file, env, ports }: Program): Promise<Part> {
  const part = parts.start({
    name,
    command: process.execPath,
    args: [join(repositoryRoot, file)],
    env,
    hasChannel: true,
  });
  const areHealthy = async () => (await Promise.all(ports.map(isHealthy))).every(Boolean);
  await parts.untilReady(part, areHealthy);
  return part;
}

const isHealthy = (port: number): Promise<boolean> => answersOk(`http://127.0.0.1:${port}/health`);

/** Whether an address answers with 200. Rejects where nothing answers. */
export async function answersOk(url: string): Promise<boolean> {
  const { statusCode, body } = await request(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  await body.dump();
  return statusCode === 200;
}
