import { join } from 'node:path';
import type { Region } from '@turnpike/config/region';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { OWN_STATE } from './paths.ts';

// Each region is a namespace, which holds no address of the other.

export const namespaceOf = (region: Region): string => `turnpike-${region}`;
export const overlayOf = (region: Region): string => join(repositoryRoot, 'k8s', 'overlays', 'local', region);
export const secretsFileOf = (region: Region): string => join(OWN_STATE, `${region}-secrets.json`);
