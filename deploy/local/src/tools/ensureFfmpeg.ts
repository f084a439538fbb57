import { hasCommand } from './hasCommand.ts';
import { installDebianPackages } from './installDebianPackages.ts';

/**
 * Makes sure that `ffmpeg` and the `ffprobe` that comes with it are on this machine: installs them as root, else throws a
 * `StackError` with what to run.
 */
export async function ensureFfmpeg(say: (line: string) => void): Promise<void> {
  if (!hasCommand('ffmpeg') || !hasCommand('ffprobe')) await installDebianPackages(['ffmpeg'], 'ffmpeg', say);
}
