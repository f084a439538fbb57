import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { kubectl } from '@turnpike/cluster/kubectl';
import { namespaceOf, overlayOf } from '@turnpike/cluster/paths';
import { runScript } from '@turnpike/cluster/runScript';
import { REGION_SERVICES } from '@turnpike/config/services';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import type { Cell, Suite } from '../cell.ts';
import { listRegionPods } from '../region/pods.ts';
import { untilRolledOut } from '../region/rollout.ts';
import { rehearse } from '../runbooks/rehearse.ts';
import { judge } from './rollingUpdate.ts';

const REGION = 'us';
const CALLS_PER_SECOND = 5;
const UNBOUNDED = 1_000_000;
/** The tag of the images that run, and another one of the same images. */
const [OLD, NEW] = ['dev', 'next'];

export const rolledBack: Cell = {
  name: 'rolled-back',
  does: `runs the commands of docs/runbooks/roll-back.md as they stand there, under ${CALLS_PER_SECOND} calls a second: the region goes to another tag and back`,
  holds: 'every command ends well and does what its page says, no call fails, and the books are exact',
  async run(suite) {
    await runScript('tag-image', {
      args: [OLD, NEW, ...REGION_SERVICES.map((name) => `turnpike/${name}`)],
      say: () => undefined,
    });
    const folder = await checkOut();
    try {
      const context = await suite.openBooks(REGION);
      const load = context.startLoad({ calls: UNBOUNDED, perSecond: CALLS_PER_SECOND, openAtMost: 100 });
      try {
        await rehearse(
          {
            page: 'roll-back.md',
            folder,
            variables: { REGION, OLD, NEW },
            looks: { Upgrade: () => checkImages(suite, NEW), 'Go back': () => checkImages(suite, OLD) },
          },
          { suite, region: REGION },
        );
      } finally {
        load.stop();
        await load.done;
        suite.doing('rolled-back: going back to the images of before');
        await goBack(folder);
      }
      judge(suite)(context);
    } finally {
      await rm(folder, { recursive: true });
    }
  },
};

/**
 * Makes an operator's working copy. Its overlay of the region is the local one, with the tags in `components/production` and the
 * migrations in a folder apart.
 */
async function checkOut(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-released-'));
  for (const name of await readdir(repositoryRoot))
    if (name !== 'k8s') await symlink(join(repositoryRoot, name), join(folder, name));
  const k8s = join(folder, 'k8s');
  await cp(join(repositoryRoot, 'k8s'), k8s, { recursive: true });
  const overlay = join(k8s, 'overlays', REGION);
  for (const name of ['files', 'namespace.yaml'])
    await cp(join(overlayOf(REGION), name), join(overlay, name), { recursive: true, force: true });
  const local = await readFile(join(overlayOf(REGION), 'kustomization.yaml'), 'utf8');
  await writeFile(
    join(overlay, 'kustomization.yaml'),
    local
      .replaceAll('../../../', '../../')
      .replace('  - ../../base/migrations/region\n', '')
      .replace('  - ../../components/small\n', '  - ../../components/small\n  - ../../components/production\n'),
  );
  await writeFile(
    join(k8s, 'components', 'production', 'kustomization.yaml'),
    [
      'apiVersion: kustomize.config.k8s.io/v1alpha1',
      'kind: Component',
      'images:',
      ...REGION_SERVICES.map((name) => `  - { name: turnpike/${name}, newTag: ${OLD} }`),
      '',
    ].join('\n'),
  );
  return folder;
}

/** Every pod of the region's services is of this tag. */
async function checkImages({ check }: Suite, tag: string): Promise<void> {
  for (const service of REGION_SERVICES) {
    await untilRolledOut(REGION, service);
    const images = (await listRegionPods(REGION, service)).map(({ spec }) => spec.containers[0]?.image ?? 'none');
    const others = images.filter((image) => !image.endsWith(`:${tag}`));
    check(others.length === 0, `${service} runs ${others.join(', ')}, not tag ${tag}`);
  }
}

/** Applies the tag of before. After the last block of the page that changes nothing. */
async function goBack(folder: string): Promise<void> {
  const production = join(folder, 'k8s', 'components', 'production', 'kustomization.yaml');
  await writeFile(production, (await readFile(production, 'utf8')).replaceAll(`newTag: ${NEW}`, `newTag: ${OLD}`));
  await kubectl(['apply', '-k', join(folder, 'k8s', 'overlays', REGION), '-n', namespaceOf(REGION)]);
  for (const service of REGION_SERVICES) await untilRolledOut(REGION, service);
}
