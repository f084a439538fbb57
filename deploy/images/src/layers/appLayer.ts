import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { deployApp } from '../app/deployApp.ts';
import { type Component, toNpmComponent } from '../archive/toBillOfMaterials.ts';
import type { Layer } from './layer.ts';

/** A package of the workspace in `/app`, compiled, with what it needs in production. `place` is its folder in the repository. */
export function appLayer(place: string): Layer {
  return {
    name: place.replace('/', '-'),
    async stamp() {
      const hash = createHash('sha256').update(await readFile(join(repositoryRoot, 'pnpm-lock.yaml')));
      for (const folder of (await listWorkspaceFolders(place)).sort())
        await hashFolder(join(repositoryRoot, folder), hash);
      return hash.digest('hex');
    },
    async fill(folder) {
      const { name } = JSON.parse(await readFile(join(repositoryRoot, place, 'package.json'), 'utf8'));
      await deployApp(name, join(folder, 'app'));
      return listComponents(join(folder, 'app'));
    },
  };
}

/** The folders of a package and of every package of the workspace that it needs in production. */
async function listWorkspaceFolders(place: string, found = new Set([place])): Promise<string[]> {
  const { dependencies = {} } = JSON.parse(await readFile(join(repositoryRoot, place, 'package.json'), 'utf8'));
  for (const name of Object.keys(dependencies).filter((name) => name.startsWith('@turnpike/'))) {
    const folder = await findPackage(name);
    if (found.has(folder)) continue;
    await listWorkspaceFolders(folder, found.add(folder));
  }
  return [...found];
}

let places: Promise<Map<string, string>> | undefined;
async function findPackage(name: string): Promise<string> {
  places ??= readPlaces();
  const place = (await places).get(name);
  if (place === undefined) throw new Error(`No package of the workspace is called ${name}.`);
  return place;
}

/** Reads the folder of each package of the workspace, by its name. */
async function readPlaces(): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const group of ['libs', 'services', 'deploy']) {
    for (const folder of await readdir(join(repositoryRoot, group))) {
      const text = await readFile(join(repositoryRoot, group, folder, 'package.json'), 'utf8').catch(() => '{}');
      found.set(JSON.parse(text).name, join(group, folder));
    }
  }
  return found;
}

async function hashFolder(folder: string, hash: ReturnType<typeof createHash>): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (entry.name !== 'node_modules' && entry.name !== 'test') await hashFolder(path, hash);
    } else if (!entry.name.endsWith('.test.ts')) {
      hash.update(`${path.slice(repositoryRoot.length)}\n`).update(await readFile(path));
    }
  }
}

/** The npm packages below a folder, ours included, in order. */
async function listComponents(folder: string): Promise<Component[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter(({ name }) => name === 'package.json')
    .map((entry) => join(entry.parentPath, entry.name));
  const found = new Map<string, Component>();
  for (const file of files) {
    const { name, version, license } = JSON.parse(await readFile(file, 'utf8'));
    // One without them only says which kind of modules lie below.
    if (typeof name !== 'string' || typeof version !== 'string') continue;
    const component = toNpmComponent(name, version, typeof license === 'string' ? license : undefined);
    found.set(component.purl, component);
  }
  return [...found.values()].sort((a, b) => (a.purl < b.purl ? -1 : 1));
}
