import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { REGIONS, type Scope } from '@turnpike/config/region';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';

/** The scripts of this folder, with a slash at the end; `lib.sh` there says the same of what follows. */
export const SCRIPTS = fileURLToPath(new URL('..', import.meta.url));

const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'turnpike', 'cluster');

/** The programs that `build` compiles. */
export const BIN = join(CACHE, 'bin');
/** One run of the cluster: `down` removes it. */
export const STATE = join(CACHE, 'state');
export const KUBECONFIG = join(CACHE, 'kubeconfig');

/** Folder of the command's own files: secrets, and the addresses of the scopes. */
export const OWN_STATE = join(repositoryRoot, '.turnpike', 'cluster');
export const STACK_FILE = join(OWN_STATE, 'stack.json');

/** The scopes of the cluster: each region, and the account layer beside them. Each is a namespace. */
export const SCOPES: readonly Scope[] = [...REGIONS, 'global'];

export const namespaceOf = (scope: Scope): string => `turnpike-${scope}`;
export const overlayOf = (scope: Scope): string => join(repositoryRoot, 'k8s', 'overlays', 'local', scope);
export const secretsFileOf = (scope: Scope): string => join(OWN_STATE, `${scope}-secrets.json`);
