import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Runs ffmpeg over what is piped in and resolves with what it pipes out. Rejects with its last words where it cannot. */
export function runFfmpeg(args: readonly string[], input: Buffer = Buffer.alloc(0)): Promise<Buffer> {
  const quiet = ['-hide_banner', '-nostats', '-loglevel', 'error', '-y'];
  const child = spawn('ffmpeg', [...quiet, ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
  const output: Buffer[] = [];
  let complaint = '';
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => {
    complaint = (complaint + chunk.toString()).slice(-500);
  });
  child.stdin.on('error', () => {}); // ffmpeg may end before it has read all input
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve(Buffer.concat(output));
      else reject(new Error(`ffmpeg ended with ${code}: ${complaint.trim()}`));
    });
  });
}

export const HEARING_RATE = 16_000;

/** The samples of a file of any kind, one channel of 16 kHz. Rejects where it is no audio. */
export async function hearAudio(file: Buffer): Promise<Int16Array> {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-hear-'));
  try {
    const name = join(folder, 'audio');
    await writeFile(name, file);
    const output = ['-map', '0:a:0', '-f', 's16le', '-ac', '1', '-ar', String(HEARING_RATE), 'pipe:1'];
    const pcm = await runFfmpeg(['-protocol_whitelist', 'file,pipe', '-i', name, ...output]);
    return new Int16Array(Uint8Array.from(pcm).buffer);
  } finally {
    await rm(folder, { recursive: true });
  }
}
