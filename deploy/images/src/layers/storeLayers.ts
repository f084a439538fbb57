import { cp, mkdir, readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { findPostgresBinaries } from '@turnpike/local-stack/parts/findPostgresBinaries';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { ensureJars, type JavaServer } from '@turnpike/local-stack/tools/ensureJars';
import { compileTypeScript } from '../app/copyApp.ts';
import type { Component } from '../archive/toBillOfMaterials.ts';
import { copyDebianFiles, describeDebianFiles, listBeyondNode, stampFiles } from './debianFiles.ts';
import type { Layer } from './layer.ts';

const SCRIPTS = join(repositoryRoot, 'deploy/images/src/stores');

/** The start scripts of the stores' images, in `/app`. */
export const storeScriptsLayer: Layer = {
  name: 'store-scripts',
  // They are part of this package, for which every layer has a stamp.
  stamp: async () => '',
  async fill(folder) {
    await mkdir(join(folder, 'app'), { recursive: true });
    await writeFile(join(folder, 'app/package.json'), '{"type":"module"}\n');
    for (const file of await listFiles(SCRIPTS)) {
      const name = basename(file).replace(/\.ts$/, '.js');
      await writeFile(join(folder, 'app', name), compileTypeScript(await readFile(file, 'utf8')));
    }
    return [];
  },
};

/** The Postgres that the local stack runs, in `/opt/postgres`, and the shell that `initdb` runs the server with. */
export const postgresLayer: Layer = {
  name: 'postgres',
  stamp: async () => stampFiles([...Object.values(findPostgresBinaries()), ...(await listPostgresNeeds())]),
  async fill(folder) {
    const native = findNative();
    const own = [...Object.values(findPostgresBinaries()), ...(await listPostgresNeeds()).filter(isOwn)];
    for (const file of own) {
      const target = join(folder, 'opt/postgres', basename(dirname(file)), basename(file));
      await mkdir(dirname(target), { recursive: true });
      await cp(await realpath(file), target);
    }
    for (const name of ['lib/postgresql', 'share'])
      await cp(join(native, name), join(folder, 'opt/postgres', name), { recursive: true, verbatimSymlinks: true });
    const { name, version, license } = JSON.parse(await readFile(join(native, '../package.json'), 'utf8'));
    const postgres = { name, version, purl: `pkg:npm/${name.replace('@', '%40')}@${version}`, license };
    const others = (await listPostgresNeeds()).filter((file) => !isOwn(file));
    return [postgres, ...(await copyDebianFiles(others, folder))];
  },
};

const findNative = (): string => dirname(dirname(findPostgresBinaries().postgres));
const isOwn = (file: string): boolean => file.startsWith(findNative());

async function listPostgresNeeds(): Promise<string[]> {
  const needs = await listBeyondNode(Object.values(findPostgresBinaries()));
  // ldd names what lies beside a program by way of the program's folder.
  return [...needs.map((file) => join(file)), '/usr/bin/sh'];
}

/** The parts of a Java that a server needs; the rest is for developers. */
const JAVA_PARTS = ['bin/java', 'lib', 'conf', 'legal'];

/** The Java that servers of a region run on, in `/opt/java`. */
export const javaLayer: Layer = {
  name: 'java',
  // Java comes with the first server that runs on it.
  prepare: async (say) => void (await ensureJars('s3proxy', say)),
  stamp: async () => stampFiles([join(await findJava(), 'lib/modules')]),
  async fill(folder) {
    const java = await findJava();
    for (const part of JAVA_PARTS) {
      // Debian's Java links into /etc, and to sources that are not there.
      const filter = (file: string) => !file.endsWith('.zip');
      await cp(join(java, part), join(folder, 'opt/java', part), { recursive: true, dereference: true, filter });
    }
    const programs = ['bin/java', 'lib/server/libjvm.so'].map((name) => join(java, name));
    const needs = (await listBeyondNode(programs)).filter((file) => !file.startsWith(java));
    return [...(await copyDebianFiles(needs, folder)), ...(await describeDebianFiles(programs))];
  },
};

/** A server that runs on Java, in a folder of its name in `/opt`, with files of the local stack beside its jars. */
const toServerLayer = (server: JavaServer, settings: string[] = []): Layer => ({
  name: server,
  prepare: async (say) => void (await ensureJars(server, say)),
  stamp: async () => stampFiles(await listFiles(await findJars(server))),
  async fill(folder) {
    const jars = await findJars(server);
    await cp(jars, join(folder, 'opt', server, 'jars'), { recursive: true });
    for (const file of settings)
      await cp(join(repositoryRoot, 'deploy/local', server, file), join(folder, 'opt', server, file));
    return (await listFiles(jars)).map(toJarComponent);
  },
});

export const s3ProxyLayer = toServerLayer('s3proxy', ['logback.xml']);
export const kafkaLayer = toServerLayer('kafka');

const findJars = (server: JavaServer): Promise<string> => ensureJars(server, () => undefined);
const findJava = async (): Promise<string> => dirname(dirname(await realpath('/usr/bin/java')));

function toJarComponent(file: string): Component {
  const [, name = basename(file), version = ''] = /^(.+?)-(\d.*)\.jar$/.exec(basename(file)) ?? [];
  return { name, version, purl: `pkg:generic/${name}@${version}`, license: undefined };
}

async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}
