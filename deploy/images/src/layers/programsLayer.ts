import { copyDebianFiles, listBeyondNode, stampFiles } from './debianFiles.ts';
import type { Layer } from './layer.ts';

/** Programs of Debian packages, which `prepare` installs where they may be missing, and the libraries they need beside Node's. */
export function programsLayer(name: string, programs: string[], prepare?: Layer['prepare']): Layer {
  return {
    name,
    ...(prepare && { prepare }),
    stamp: async () => stampFiles(await listFiles(programs)),
    fill: async (folder) => copyDebianFiles(await listFiles(programs), folder),
  };
}

const listFiles = async (programs: string[]): Promise<string[]> => [...programs, ...(await listBeyondNode(programs))];
