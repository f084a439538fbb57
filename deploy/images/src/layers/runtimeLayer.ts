import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { installDebianPackages } from '@turnpike/local-stack/tools/installDebianPackages';
import type { Component } from '../archive/toBillOfMaterials.ts';
import { listLibraries } from './copyPrograms.ts';
import { copyDebianFiles, describeDebianFiles, stampFiles } from './debianFiles.ts';
import type { Layer } from './layer.ts';

/** The user of every image: `nonroot`, as distroless images number it. */
export const NONROOT_ID = 65_532;

const AUTHORITIES = '/usr/share/ca-certificates/mozilla';
const TIME_ZONES = '/usr/share/zoneinfo';
/** The same places once more, of other kinds of clocks and under old names. */
const OTHER_TIME_ZONES = ['posix', 'right'];

/** Files that a program reads by name: its user, and how to look up hosts. */
const SYSTEM_FILES = {
  'etc/passwd': [
    'root:x:0:0:root:/root:/usr/sbin/nologin',
    `nonroot:x:${NONROOT_ID}:${NONROOT_ID}:nonroot:/home/nonroot:/usr/sbin/nologin`,
  ],
  'etc/group': ['root:x:0:', `nonroot:x:${NONROOT_ID}:`],
  'etc/nsswitch.conf': ['hosts: files dns'],
};

/**
 * The layer below every image without a base image: Node, its libraries, certificate authorities, time zones, and a user who is
 * not root. It has no shell.
 */
export const runtimeLayer: Layer = {
  name: 'runtime',
  async prepare(say) {
    const packages = ['tzdata', 'ca-certificates'];
    if (![TIME_ZONES, AUTHORITIES].every(existsSync)) await installDebianPackages(packages, packages.join(' or '), say);
  },
  stamp: async () => stampFiles(await listDebianFiles()),
  async fill(folder) {
    for (const name of ['app', 'data', 'run', 'tmp', 'home/nonroot'])
      await mkdir(join(folder, name), { recursive: true });
    // Docker gives a new volume the rights of the folder that it is mounted at, and none to a group, as Kubernetes does.
    for (const name of ['data', 'tmp']) await chmod(join(folder, name), 0o1777);
    for (const name of ['bin', 'sbin', 'lib', 'lib64']) {
      await mkdir(join(folder, 'usr', name), { recursive: true });
      await symlink(join('usr', name), join(folder, name));
    }
    for (const [name, lines] of Object.entries(SYSTEM_FILES)) await write(join(folder, name), `${lines.join('\n')}\n`);
    await write(join(folder, 'etc/ssl/certs/ca-certificates.crt'), await readAuthorities());
    const packages = [
      ...(await copyDebianFiles(await listDebianFiles(), folder)),
      ...(await describeDebianFiles([AUTHORITIES])),
    ];
    return [...packages, await copyNode(folder)];
  },
};

/** Copies the Node that runs this, which is the lockfile's, to where every image has it. */
export async function copyNode(folder: string): Promise<Component> {
  await mkdir(join(folder, 'usr/bin'), { recursive: true });
  await copyFile(process.execPath, join(folder, 'usr/bin/node'));
  const version = process.versions.node;
  return { name: 'node', version, purl: `pkg:generic/node@${version}`, license: 'MIT' };
}

/** The libraries that Node is loaded with, and the time zones. */
async function listDebianFiles(): Promise<string[]> {
  return [...(await listLibraries([process.execPath])), ...(await listZones(TIME_ZONES))];
}

async function listZones(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !OTHER_TIME_ZONES.some((kind) => file.startsWith(join(TIME_ZONES, kind, '/'))))
    .sort();
}

/** Debian's list, without those that this machine trusts besides. */
async function readAuthorities(): Promise<string> {
  const names = (await readdir(AUTHORITIES)).sort();
  return (await Promise.all(names.map((name) => readFile(join(AUTHORITIES, name), 'utf8')))).join('');
}

async function write(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}
