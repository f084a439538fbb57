import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { buildManifests } from '../../../deploy/manifests/test/renderManifests.ts';

const SCOPES = ['us', 'eu', 'global'];
const OVERLAYS = SCOPES.flatMap((scope) => [`overlays/${scope}`, `overlays/local/${scope}`]);
/** A region has one of the two: what the overlays name, and what they might name in its place. */
const ALTERNATIVES = { keda: 'hpa-cpu', gateway: 'ingress' };

export interface RenderedOverlay {
  name: string;
  yaml: string;
}

/** Every overlay as it stands, and with the other component wherever one excludes another. */
export function renderOverlays(kustomize: string): RenderedOverlay[] {
  return OVERLAYS.flatMap((folder) => {
    const asItStands = { name: folder, yaml: buildManifests(kustomize, folder) };
    const other = renderOther(kustomize, folder);
    return other ? [asItStands, other] : [asItStands];
  });
}

/** Undefined where the overlay has none of those that others can stand in for. */
function renderOther(kustomize: string, folder: string): RenderedOverlay | undefined {
  const source = join(repositoryRoot, 'k8s', folder);
  const text = readFileSync(join(source, 'kustomization.yaml'), 'utf8');
  const found = Object.entries(ALTERNATIVES).filter(([component]) => text.includes(`/components/${component}\n`));
  if (found.length === 0) return undefined;
  const other = found.reduce(
    (changed, [component, instead]) => changed.replace(`/components/${component}\n`, `/components/${instead}\n`),
    text,
  );
  // Beside the overlay, so that its paths lead where they did.
  const place = mkdtempSync(join(dirname(source), '.other-'));
  try {
    cpSync(source, place, { recursive: true });
    writeFileSync(join(place, 'kustomization.yaml'), other);
    const components = found.map(([, instead]) => instead).join(' and ');
    return { name: `${folder} with ${components}`, yaml: buildManifests(kustomize, place) };
  } finally {
    rmSync(place, { recursive: true });
  }
}
