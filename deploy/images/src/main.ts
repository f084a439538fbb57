import { relative } from 'node:path';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { print, runCommand } from '@turnpike/local-stack/runCommand';
import { StackError } from '@turnpike/local-stack/stackError';
import { createBuilder } from './buildImages.ts';
import { IMAGES } from './images.ts';

/** Builds the images that the arguments name, all where there are none, and prints a line for each. */
async function main(names: string[]): Promise<number> {
  const known = IMAGES.map(({ name }) => name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new StackError(`No image is called ${unknown}. There are: ${known.join(', ')}.`);
  const build = await createBuilder(print);
  for (const image of IMAGES.filter(({ name }) => names.length === 0 || names.includes(name))) {
    const startedAt = performance.now();
    const { file, digest, size, isNew } = await build(image);
    const took = isNew ? `built in ${((performance.now() - startedAt) / 1000).toFixed(1)} s` : 'unchanged';
    print(
      `${relative(repositoryRoot, file).padEnd(44)} ${(size / 1e6).toFixed(0).padStart(4)} MB  ${digest.slice(0, 19)}  ${took}`,
    );
  }
  return 0;
}

runCommand(() => main(process.argv.slice(2)));
