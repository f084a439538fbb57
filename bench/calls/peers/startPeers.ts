import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findFreePort } from '@turnpike/test-support/findFreePort';
import { endWithProcess } from '../endWithProcess.ts';
import { type Target, toBaseline } from '../target.ts';
import { untilOpen } from '../untilOpen.ts';
import { MODEL } from '../wire.ts';
import { ensureLitellm } from './ensureLitellm.ts';
import { ensurePortkey } from './ensurePortkey.ts';

export interface Peers {
  portkey: Target | undefined;
  litellm: Target | undefined;
}

interface PeerOptions {
  dir: string;
  enginePort: number;
  progress: (text: string) => void;
  /** Each ends one process when the bench ends. */
  stops: (() => unknown)[];
}

const MASTER_KEY = 'sk-bench-0123456789abcdef';
const START_TIMEOUT_MS = 120_000;

/** Starts the other gateways. One that cannot be had is left out, and said so. */
export async function startPeers(options: PeerOptions): Promise<Peers> {
  const attempt = async (
    name: string,
    start: (options: PeerOptions) => Promise<Target>,
  ): Promise<Target | undefined> => {
    try {
      return await start(options);
    } catch (error) {
      process.stdout.write(
        `  NO ${name.toUpperCase()} HERE, so its figures are missing: ${(error as Error).message}\n`,
      );
      return undefined;
    }
  };
  const [portkey, litellm] = await Promise.all([attempt('Portkey', startPortkey), attempt('LiteLLM', startLitellm)]);
  return { portkey, litellm };
}

/** Starts Portkey by its page on self-hosting: one Node process, headless. Two headers of each call name its provider. */
async function startPortkey({ enginePort, progress, stops }: PeerOptions): Promise<Target> {
  const program = await ensurePortkey(progress);
  progress('starting Portkey’s gateway');
  const port = await findFreePort();
  const pid = await startProgram(stops, port, {
    command: process.execPath,
    args: [program, '--headless', `--port=${port}`],
    env: { NODE_ENV: 'production', PORT: String(port) },
  });
  return {
    ...toBaseline('Portkey', port, { portkey: pid }),
    headers: { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': `http://127.0.0.1:${enginePort}/v1` },
  };
}

/**
 * Starts LiteLLM by its production checklist: one worker a process, a master key, mode PRODUCTION, errors alone in its log; no
 * database.
 */
async function startLitellm({ dir, enginePort, progress, stops }: PeerOptions): Promise<Target> {
  const python = await ensureLitellm(progress);
  progress('starting LiteLLM’s proxy');
  const port = await findFreePort();
  const folder = join(dir, 'litellm');
  await mkdir(folder, { recursive: true });
  const config = join(folder, 'config.yaml');
  // JSON is YAML too.
  await writeFile(
    config,
    JSON.stringify({
      model_list: [
        {
          model_name: MODEL,
          litellm_params: {
            model: `openai/${MODEL}`,
            api_key: 'none',
            api_base: `http://127.0.0.1:${enginePort}/v1`,
          },
        },
      ],
      general_settings: { master_key: MASTER_KEY },
      litellm_settings: { set_verbose: false, json_logs: true, request_timeout: 600 },
    }),
  );
  const pid = await startProgram(stops, port, {
    command: python,
    args: [
      '-c',
      'from litellm import run_server; run_server()',
      '--host=127.0.0.1',
      `--port=${port}`,
      `--config=${config}`,
      '--num_workers=1',
    ],
    env: {
      LITELLM_MODE: 'PRODUCTION',
      LITELLM_LOG: 'ERROR',
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      DO_NOT_TRACK: '1',
    },
  });
  return { ...toBaseline('LiteLLM', port, { litellm: pid }), apiKeys: [MASTER_KEY] };
}

async function startProgram(
  stops: (() => unknown)[],
  port: number,
  { command, args, env }: { command: string; args: string[]; env: Record<string, string> },
): Promise<number> {
  const child = spawn(command, args, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  endWithProcess(child);
  stops.push(() => child.kill('SIGKILL'));
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-2_000);
  });
  const failed = Promise.race([
    once(child, 'error').then(([error]) => Promise.reject(error)),
    once(child, 'exit').then(([code]) => Promise.reject(new Error(`it ended with ${code}: ${said.trim()}`))),
  ]);
  failed.catch(() => undefined);
  await Promise.race([failed, untilOpen(port, AbortSignal.timeout(START_TIMEOUT_MS))]);
  return child.pid ?? 0;
}
