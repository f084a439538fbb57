import { existsSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Component } from '../archive/toBillOfMaterials.ts';
import { readOutput } from '../readOutput.ts';
import { copyFiles, listDebianPackages, listLibraries } from './copyPrograms.ts';

/** The libraries that programs of this machine need and Node does not: Node's are in every image. */
export async function listBeyondNode(programs: string[]): Promise<string[]> {
  const nodes = await listLibraries([process.execPath]);
  return (await listLibraries(programs)).filter((file) => !nodes.includes(file));
}

/** The Debian packages of files of this machine. */
export const describeDebianFiles = async (files: string[]): Promise<Component[]> =>
  describeDebianPackages(await listDebianPackages(files));

/** Copies files of Debian packages with the packages' licences, and resolves with the packages. */
export async function copyDebianFiles(files: string[], folder: string): Promise<Component[]> {
  const packages = await listDebianPackages(files);
  const licences = packages.map((name) => join('/usr/share/doc', name, 'copyright')).filter(existsSync);
  await copyFiles([...files, ...licences], folder);
  return describeDebianPackages(packages);
}

async function describeDebianPackages(packages: string[]): Promise<Component[]> {
  if (packages.length === 0) return [];
  // biome-ignore lint/suspicious/noTemplateCurlyInString: dpkg's own names of fields
  const format = '${Package} ${Version} ${Architecture}\n';
  const lines = (await readOutput('dpkg-query', ['--show', `--showformat=${format}`, ...packages])).trim().split('\n');
  return lines.map((line) => {
    const [name = '', version = '', architecture = ''] = line.split(' ');
    const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}`;
    return { name, version, purl, license: undefined };
  });
}

/** Changes whenever one of these files does. */
export async function stampFiles(files: string[]): Promise<string> {
  const facts = files.map(async (file) => {
    const { size, mtimeMs } = await stat(file);
    return `${file} ${await realpath(file)} ${size} ${mtimeMs}`;
  });
  return (await Promise.all(facts)).join('\n');
}
