import { createBuilder } from '@turnpike/images/buildImages';
import { IMAGES } from '@turnpike/images/images';
import { runScript } from './runScript.ts';

/** An image that a node can be given. */
export interface Image {
  /** The name in manifests. */
  name: string;
  /** The digest of the image's manifest. A changed image has a new one. */
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

/** Gives images to the nodes that run and keeps them for those to come; what is there as it is now costs nothing. */
export function loadImages(images: readonly Image[]): Promise<void> {
  return runScript('load-image', { args: images.map(({ archive }) => archive), say: () => undefined });
}
