import { join } from 'node:path';
import { entryOf, layerOf, type ServiceName } from '@turnpike/config/services';
import type { Part, Parts } from '../process/startParts.ts';
import { answersOk } from './startProgram.ts';

export interface ServiceOptions {
  parts: Parts;
  service: ServiceName;
  /** The name of this process. */
  name: string;
  internalUrl: string;
  env: Record<string, string>;
  /** Folder of the code that runs. */
  root: string;
  /** Resolves when what it needs to become ready is there: the time it has is counted from then. */
  untilServed?: () => Promise<unknown>;
}

/** Starts one service and resolves when its internal listener reports that it can serve. */
export async function startService(options: ServiceOptions): Promise<Part> {
  const { parts, service, name, internalUrl, env, root, untilServed } = options;
  const { nodeFlags = [] } = entryOf(service);
  const part = parts.start({
    name,
    layer: layerOf(service),
    command: process.execPath,
    args: [...nodeFlags, join(root, 'services', service, 'src/main.ts')],
    env,
    hasChannel: true,
  });
  await untilServed?.();
  await parts.untilReady(part, () => answersOk(`${internalUrl}/ready`));
  return part;
}
