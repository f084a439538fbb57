import { spawn } from 'node:child_process';

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
  child.stdin.on('error', () => {}); // it may end before it has read all
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve(Buffer.concat(output));
      else reject(new Error(`ffmpeg ended with ${code}: ${complaint.trim()}`));
    });
  });
}
