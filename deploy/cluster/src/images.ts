import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createBuilder } from '@turnpike/images/buildImages';
import { IMAGES } from '@turnpike/images/images';
import { z } from 'zod';
import { STATE } from './paths.ts';
import { runScript } from './runScript.ts';

/** An image that a node can be given. */
export interface Image {
  /** As manifests name it. */
  name: string;
  /** Of its manifest: another one is another image. */
  digest: string;
  archive: string;
}

/** Builds the images that are missing or older than what they are made of, and says which. */
export async function ensureImages(say: (line: string) => void): Promise<Image[]> {
  const build = await createBuilder(say);
  const images: Image[] = [];
  for (const image of IMAGES) {
    const { file, digest, isNew } = await build(image);
    if (isNew) say(`built ${image.name}`);
    images.push({ name: `turnpike/${image.name}:dev`, digest, archive: file });
  }
  return images;
}

/** What the nodes of this run were given, by the image's name. */
const LOADED = join(STATE, 'loaded-images.json');
const loadedSchema = z.record(z.string(), z.string());

/** Gives the nodes those of the images that they do not have as they are now. */
export async function loadImages(images: readonly Image[]): Promise<void> {
  const loaded = loadedSchema.parse(JSON.parse(await readFile(LOADED, 'utf8').catch(() => '{}')));
  const changed = images.filter(({ name, digest }) => loaded[name] !== digest);
  if (changed.length === 0) return;
  await runScript('load-image', { args: changed.map(({ archive }) => archive), say: () => undefined });
  await writeFile(LOADED, JSON.stringify(Object.fromEntries(images.map(({ name, digest }) => [name, digest]))));
}
