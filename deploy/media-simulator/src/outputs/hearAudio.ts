import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runFfmpeg } from './runFfmpeg.ts';

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
