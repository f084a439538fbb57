import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StackError } from '@turnpike/local-stack/stackError';
import type { Component } from './archive/toBillOfMaterials.ts';
import { toBillOfMaterials } from './archive/toBillOfMaterials.ts';
import { APPS } from './images.ts';
import { copyNode } from './layers/runtimeLayer.ts';

/**
 * Writes what the Dockerfile's last stage copies for an image, below `folder`: `node`, `programs` and `app`, each as below the
 * image's root, and `sbom`.
 */
async function main([name, folder]: string[]): Promise<void> {
  const image = APPS.find((one) => one.name === name);
  if (image === undefined || folder === undefined)
    throw new StackError(`SERVICE has to be one of: ${APPS.map(({ name }) => name).join(', ')}.`);
  const places = { node: join(folder, 'node'), programs: join(folder, 'programs'), app: join(folder, 'app') };
  for (const place of [...Object.values(places), join(folder, 'sbom')]) await mkdir(place, { recursive: true });
  const components: Component[] = [await copyNode(places.node)];
  for (const layer of [...image.programs, image.app]) {
    await layer.prepare?.((line) => process.stdout.write(`${line}\n`));
    components.push(...(await layer.fill(layer === image.app ? places.app : places.programs)));
  }
  const bill = toBillOfMaterials({ name: image.name, version: 'dev' }, components);
  await writeFile(join(folder, 'sbom', `${image.name}.cdx.json`), bill);
}

main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof StackError ? error.message : (error as Error)?.stack}\n`);
  process.exitCode = 1;
});
