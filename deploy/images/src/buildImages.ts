import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { packImage } from './archive/packImage.ts';
import { type Blob, packLayer } from './archive/packLayer.ts';
import type { Component } from './archive/toBillOfMaterials.ts';
import { toBillOfMaterials } from './archive/toBillOfMaterials.ts';
import type { Image } from './images.ts';
import type { Layer } from './layers/layer.ts';
import { NONROOT_ID, runtimeLayer } from './layers/runtimeLayer.ts';

/** The folder of the images: `<name>.tar` each, with `<name>.cdx.json` beside it. */
export const IMAGES_FOLDER = join(repositoryRoot, '.turnpike/images');
const LAYERS_FOLDER = join(IMAGES_FOLDER, 'layers');

interface BuiltLayer extends Blob {
  stamp: string;
  components: Component[];
  file: string;
}

export interface BuiltImage {
  file: string;
  /** The digest of its manifest. The same input gives the same digest. */
  digest: string;
  /** Bytes of all layers, which images share in part. */
  size: number;
  isNew: boolean;
}

/**
 * Builds images one after another, and makes only those layers and archives anew whose input has changed. `say` is told what
 * takes long.
 */
export async function createBuilder(say: (line: string) => void): Promise<(image: Image) => Promise<BuiltImage>> {
  await mkdir(LAYERS_FOLDER, { recursive: true });
  const builderStamp = await stampBuilder();
  const layers = new Map<string, Promise<BuiltLayer>>();
  const layerOf = (layer: Layer): Promise<BuiltLayer> => {
    const built = layers.get(layer.name) ?? buildLayer(layer, { builderStamp, say });
    layers.set(layer.name, built);
    return built;
  };
  return async (image) => {
    const built: BuiltLayer[] = [];
    for (const layer of [runtimeLayer, ...image.programs, image.app]) built.push(await layerOf(layer));
    return buildImage(image, built, builderStamp);
  };
}

async function buildImage(image: Image, layers: BuiltLayer[], builderStamp: string): Promise<BuiltImage> {
  const { name, program, nodeFlags = [], stopSignal = 'SIGTERM' } = image;
  const file = join(IMAGES_FOLDER, `${name}.tar`);
  const size = layers.reduce((sum, layer) => sum + layer.size, 0);
  const { version } = JSON.parse(await readFile(join(repositoryRoot, 'package.json'), 'utf8'));
  const { REVISION: revision, SOURCE: source } = process.env;
  const stamp = toHash(
    JSON.stringify([builderStamp, image, layers.map(({ digest }) => digest), version, revision, source]),
  );
  const before = await readJson<{ stamp: string; digest: string }>(join(LAYERS_FOLDER, `${name}.image.json`));
  if (before?.stamp === stamp && existsSync(file)) return { file, digest: before.digest, size, isNew: false };

  const bill = toBillOfMaterials(
    { name, version },
    layers.flatMap(({ components }) => components),
  );
  await writeFile(join(IMAGES_FOLDER, `${name}.cdx.json`), bill);
  const digest = await packImage(`docker.io/turnpike/${name}:dev`, {
    layers,
    file,
    config: {
      User: `${NONROOT_ID}:${NONROOT_ID}`,
      WorkingDir: '/app',
      Entrypoint: ['/usr/bin/node'],
      Cmd: [program],
      Env: [
        'PATH=/usr/bin',
        'NODE_ENV=production',
        `BUILD_VERSION=${version}`,
        ...(revision ? [`BUILD_REVISION=${revision}`] : []),
        ...(nodeFlags.length > 0 ? [`NODE_OPTIONS=${nodeFlags.join(' ')}`] : []),
      ],
      StopSignal: stopSignal,
      Labels: {
        'org.opencontainers.image.title': name,
        'org.opencontainers.image.version': version,
        ...(revision && { 'org.opencontainers.image.revision': revision }),
        ...(source && { 'org.opencontainers.image.source': source }),
        'dev.turnpike.sbom.digest': `sha256:${toHash(bill)}`,
      },
    },
  });
  await writeFile(join(LAYERS_FOLDER, `${name}.image.json`), JSON.stringify({ stamp, digest }));
  return { file, digest, size, isNew: true };
}

async function buildLayer(
  layer: Layer,
  { builderStamp, say }: { builderStamp: string; say: (line: string) => void },
): Promise<BuiltLayer> {
  await layer.prepare?.(say);
  const file = join(LAYERS_FOLDER, `${layer.name}.tar`);
  const stamp = toHash(`${builderStamp}\n${await layer.stamp()}`);
  const before = await readJson<BuiltLayer>(`${file}.json`);
  if (before?.stamp === stamp && existsSync(file)) return { ...before, file };

  const folder = await mkdtemp(join(tmpdir(), 'turnpike-layer-'));
  try {
    const components = await layer.fill(folder);
    // An archive may still be linked to the layer before: that one's file stays as it is.
    const blob = await packLayer(folder, `${file}.new`);
    await rename(`${file}.new`, file);
    const built = { stamp, components, ...blob, file };
    await writeFile(`${file}.json`, JSON.stringify(built));
    return built;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Changes with whatever builds images: this package, and the Node that strips types. */
async function stampBuilder(): Promise<string> {
  const source = join(repositoryRoot, 'deploy/images/src');
  const entries = await readdir(source, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const texts = await Promise.all(files.sort().map((file) => readFile(file, 'utf8')));
  return toHash([process.version, ...texts].join('\n'));
}

const toHash = (text: string): string => createHash('sha256').update(text).digest('hex');

const readJson = async <Value>(file: string): Promise<Value | undefined> =>
  existsSync(file) ? JSON.parse(await readFile(file, 'utf8')) : undefined;
