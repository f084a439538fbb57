import { execFileSync } from 'node:child_process';
import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { commonConfig } from '@turnpike/config/commonConfig';
import { entryOf, SERVICE_NAMES } from '@turnpike/config/services';
import { buildDashboard } from '@turnpike/dashboard/buildDashboard';
import { repositoryRoot } from '@turnpike/local-stack/repositoryRoot';
import { aTemporaryFolder } from '@turnpike/test-support/folders';
import { PNPM } from '../src/app/deployApp.ts';
import { packImage } from '../src/archive/packImage.ts';
import { packLayer } from '../src/archive/packLayer.ts';
import { toBillOfMaterials } from '../src/archive/toBillOfMaterials.ts';
import { APPS, IMAGES } from '../src/images.ts';

const readText = (place: string): Promise<string> => readFile(join(repositoryRoot, place), 'utf8');

it.each(SERVICE_NAMES)('there is an image of %s', (service) => {
  expect(IMAGES.filter(({ name }) => name === service)).toHaveLength(1);
});

it('every image has a name of its own, and every layer one that no other layer has', () => {
  const names = IMAGES.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  const layers = new Set(IMAGES.flatMap(({ programs, app }) => [...programs, app]));
  expect(new Set([...layers].map(({ name }) => name)).size).toBe(layers.size);
});

it('images are deployed by the pnpm that installs the workspace', async () => {
  expect(await readText('deploy/local/bootstrap.mjs')).toContain(`const PNPM = '${PNPM}';`);
});

it('the Dockerfile starts from nothing that may change under its name, and runs as a user who is not root', async () => {
  const text = await readText('Dockerfile');
  const bases = [...text.matchAll(/^ARG \w+_IMAGE=(.*)$/gm)].map(([, image]) => image);
  expect(bases).toHaveLength(2);
  for (const base of bases) expect(base).toMatch(/@sha256:[0-9a-f]{64}$/);
  for (const [, from] of text.matchAll(/^FROM (\S+)/gm)) expect(from).toMatch(/^(scratch|\$\{\w+_IMAGE\})$/);
  expect(text).toMatch(/^USER 65532:65532$/m);
});

it('the Dockerfile is told of the options of Node that the list of services wants, as its page says', async () => {
  const builds = [...(await readText('deploy/images/README.md')).matchAll(/^docker build .*?(?<!\\)$/gms)].map(
    ([line]) => line,
  );
  const told = builds.flatMap((line) => {
    const argumentOf = (name: string) =>
      new RegExp(`--build-arg ${name}=(?:"([^"]*)"|(\\S+))`).exec(line)?.slice(1).find(Boolean);
    const [service, options] = [argumentOf('SERVICE'), argumentOf('NODE_OPTIONS')];
    return options === undefined ? [] : [[service, options.split(' ')]];
  });
  const wanted = SERVICE_NAMES.flatMap((name) => {
    const { nodeFlags = [] } = entryOf(name);
    return nodeFlags.length > 0 ? [[name, nodeFlags]] : [];
  });
  expect(wanted).not.toEqual([]);
  expect(told).toEqual(wanted);
  const last = (await readText('Dockerfile')).split(/^FROM /m).at(-1);
  expect(last).toMatch(/^ARG NODE_OPTIONS=$/m);
  expect(last).toMatch(/^ENV .*\bNODE_OPTIONS=\$NODE_OPTIONS$/m);
});

it('a process is told of the version and commit of its image', async () => {
  const last = (await readText('Dockerfile')).split(/^FROM /m).at(-1);
  for (const [variable, argument] of Object.entries({ BUILD_VERSION: 'VERSION', BUILD_REVISION: 'REVISION' })) {
    expect(commonConfig).toHaveProperty(variable);
    expect(last).toMatch(new RegExp(`^ARG ${argument}=`, 'm'));
    expect(last).toMatch(new RegExp(`^ENV .*\\b${variable}=\\$${argument}\\b`, 'm'));
  }
});

it('the Dockerfile takes programs from the list of images alone, which has for a service what its entry asks for', async () => {
  const dockerfile = await readText('Dockerfile');
  expect(dockerfile).toContain('deploy/images/src/assemble.ts "$SERVICE" /out');
  expect(dockerfile).toContain('COPY --from=build /out/programs /');
  expect(dockerfile.replaceAll(/^#.*$/gm, '')).not.toMatch(/\b(apt|apt-get|apk|dpkg|ffmpeg)\b/);
  for (const name of SERVICE_NAMES) {
    const { scope, eventLog, engines } = entryOf(name);
    const programs = APPS.find((image) => image.name === name)?.programs.map((layer) => layer.name);
    // Services that call engines spool the cost of calls, under a lock. The service that makes media converts it, within bounds.
    // The account layer serves the dashboard.
    const wanted = [
      ...(scope === 'global' ? ['dashboard'] : []),
      ...(eventLog && engines ? ['flock'] : []),
      ...(engines === 'media' ? ['limits', 'ffmpeg'] : []),
    ];
    expect({ name, programs }).toEqual({ name, programs: wanted });
  }
});

it('the image of control-plane has every file of the built pages, and names the packages in them with their licences', async () => {
  const folder = await aTemporaryFolder();
  const layer = IMAGES.find(({ name }) => name === 'control-plane')?.programs.find(({ name }) => name === 'dashboard');
  const components = await layer?.fill(folder);

  const dist = await buildDashboard(() => undefined);
  expect(await readdir(join(folder, 'app/dashboard'))).toEqual(await readdir(dist));
  expect(await readFile(join(folder, 'app/dashboard/index.html'), 'utf8')).toMatch(/<script [^>]*src="\/assets\//);
  const react = components?.find(({ name }) => name === 'react');
  expect(react).toMatchObject({ license: 'MIT', purl: expect.stringMatching(/^pkg:npm\/react@\d/) });
  const licenses = await readFile(join(folder, 'app/dashboard/licenses.json'), 'utf8');
  expect(licenses).toContain('Permission is hereby granted');
});

/** A layer with a file that may be run and one that may not, written at some time. */
async function aLayer(writtenAt: Date) {
  const folder = await aTemporaryFolder();
  await mkdir(join(folder, 'app'), { mode: 0o700 });
  for (const [name, mode] of Object.entries({ 'app/main.js': 0o640, 'app/tool': 0o700 })) {
    await writeFile(join(folder, name), 'content', { mode });
    await utimes(join(folder, name), writtenAt, writtenAt);
  }
  const file = join(await aTemporaryFolder(), 'layer.tar');
  return { file, ...(await packLayer(folder, file)) };
}

it('the same files make the same layer, which all may read and none but root may write', async () => {
  const [first, second] = [await aLayer(new Date(0)), await aLayer(new Date())];
  expect(second.digest).toBe(first.digest);
  const list = execFileSync('tar', ['-tvf', first.file], { encoding: 'utf8' }).trim().split('\n');
  expect(list.map((line) => line.split(/\s+/).slice(0, 2).join(' '))).toEqual([
    'drwxr-xr-x 0/0',
    'drwxr-xr-x 0/0',
    '-rw-r--r-- 0/0',
    '-rwxr-xr-x 0/0',
  ]);
});

it('the same layers make the same image, whose contents are found by their digests', async () => {
  const layers = [await aLayer(new Date(0))];
  const config = {
    User: '1:1',
    WorkingDir: '/',
    Entrypoint: ['/x'],
    Cmd: [],
    Env: [],
    StopSignal: 'SIGTERM',
    Labels: {},
  };
  const folder = await aTemporaryFolder();
  const pack = (name: string) => packImage('docker.io/turnpike/x:dev', { layers, config, file: join(folder, name) });
  const digest = await pack('one.tar');
  expect(await pack('two.tar')).toBe(digest);
  execFileSync('tar', ['-xf', join(folder, 'one.tar'), '-C', folder]);
  const read = async (name: string) =>
    JSON.parse(await readFile(join(folder, 'blobs', name.replace(':', '/')), 'utf8'));
  const manifest = await read(digest);
  expect(manifest.layers).toEqual([expect.objectContaining({ digest: `sha256:${layers[0]?.digest}` })]);
  expect(await read(manifest.config.digest)).toMatchObject({
    config,
    rootfs: { diff_ids: [manifest.layers[0].digest] },
  });
  const toPath = ({ digest }: { digest: string }) => `blobs/${digest.replace(':', '/')}`;
  expect(JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8'))).toEqual([
    {
      Config: toPath(manifest.config),
      RepoTags: ['docker.io/turnpike/x:dev'],
      Layers: manifest.layers.map(toPath),
    },
  ]);
});

it('the list of what is in an image names each package once, in order', () => {
  const zod = { name: 'zod', version: '4.6.7', purl: 'pkg:npm/zod@4.6.7', license: 'MIT' };
  const pino = { name: 'pino', version: '1.0.0', purl: 'pkg:npm/pino@1.0.0', license: 'MIT OR Apache-2.0' };
  const bill = JSON.parse(toBillOfMaterials({ name: 'edge', version: '0.1.0' }, [zod, pino, zod]));
  expect(bill.components).toEqual([
    expect.objectContaining({ purl: pino.purl, licenses: [{ expression: 'MIT OR Apache-2.0' }] }),
    expect.objectContaining({ purl: zod.purl, licenses: [{ license: { name: 'MIT' } }] }),
  ]);
});
