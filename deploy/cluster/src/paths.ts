import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Region } from '@turnpike/config/region';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';

/** The scripts of this folder, with a slash at the end; `lib.sh` there says the same of what follows. */
export const SCRIPTS = fileURLToPath(new URL('..', import.meta.url));

const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'turnpike', 'cluster');

/** What `build` compiles. */
export const BIN = join(CACHE, 'bin');
/** One run of the cluster: `down` removes it. */
export const STATE = join(CACHE, 'state');
export const KUBECONFIG = join(CACHE, 'kubeconfig');

/** What the command keeps of its own: secrets, and how the regions are reached. */
export const OWN_STATE = join(repositoryRoot, '.turnpike', 'cluster');
export const STACK_FILE = join(OWN_STATE, 'stack.json');

// Each region is a namespace, which holds no address of the other.

export const namespaceOf = (region: Region): string => `turnpike-${region}`;
export const overlayOf = (region: Region): string => join(repositoryRoot, 'k8s', 'overlays', 'local', region);
export const secretsFileOf = (region: Region): string => join(OWN_STATE, `${region}-secrets.json`);
